import { createRequire } from 'node:module';
import languageService from 'amazon-states-language-service';
import { describe, expect, it } from 'vitest';
import { CONFIG_KEY, type Config, parseConfig, readContext } from '../../infra/config/config.ts';
import { readTemplate, type Template } from '../../infra/local/assembly/template.ts';
import { type Definition, mapStates } from '../../infra/local/step-functions/definition.ts';
import { synthesize } from '../../infra/synthesize.ts';
import { BUNDLES } from '../support/stack.ts';

interface Validation {
  readonly errors: readonly { readonly 'Error code': string; readonly Message: string }[];
}

/** The package has no types. */
const validate: (definition: object, options: object) => Validation = createRequire(import.meta.url)(
  'asl-validator',
);

const SHIPPED = readContext()[CONFIG_KEY] as Readonly<Record<string, unknown>>;

type Option = keyof Omit<Config, 'stack' | 'base_url' | 'revision' | 'accounts' | 'exports'>;

const EVERY_OPTION = {
  time_zones: { acme: 'Europe/Berlin' },
  refresh_parameters: { audience: 'reporting' },
  max_download_bytes: 1_000_000_000,
  max_curate_bytes: 1_000_000_000,
  tables: false,
  download_hosts: ['*.files.platform.example'],
  log_retention_days: 30,
  keep_reports_days: 400,
  currency: { acme: 'EUR' },
  alarm_emails: [],
  alarm_topic_arn: 'arn:aws:sns:eu-central-1:111122223333:on-call',
  slack: { workspace_id: 'T0123ABCD', channel_id: 'C0123ABCD' },
  runbook_url: 'https://wiki.example.com/exports',
  kms_key: 'create',
} satisfies Record<Option, unknown>;

function definitionOf(changes: Readonly<Record<string, unknown>>): Definition {
  const config = parseConfig({ ...SHIPPED, ...changes });
  const template = synthesize(config, BUNDLES).template as Template;
  return readTemplate(template, config.stack, () => '').stateMachine.definition;
}

/** The findings of asl-validator. It changes its input, hence the copy. */
function validatorFindings(definition: Definition): string[] {
  const { errors } = validate(structuredClone(definition), { checkPaths: true, checkArn: true });
  return errors.map((error) => `${error['Error code']}: ${error.Message}`);
}

/** The findings of the service behind AWS's editors, each with the text that it marks. */
async function serviceFindings(definition: Definition): Promise<string[]> {
  const { getLanguageService, TextDocument } = languageService;
  const service = getLanguageService({});
  const document = TextDocument.create('file:///definition.asl.json', 'asl', 1, JSON.stringify(definition));
  const findings = await service.doValidation(document, service.parseJSONDocument(document));
  return findings.map(({ message, range }) => `${message}: ${document.getText(range)}`);
}

describe.each([
  ['as shipped', {}],
  ['with every option', EVERY_OPTION],
])('the state machine %s', (_, changes) => {
  const definition = definitionOf(changes);

  it('has no finding of asl-validator', () => {
    expect(validatorFindings(definition)).toEqual([]);
  });

  it('has no finding of amazon-states-language-service', async () => {
    expect(await serviceFindings(definition)).toEqual([]);
  });
});

describe('both validators', () => {
  const definition = definitionOf({});
  const broken = mapStates(definition, (state) => (state.Next ? { ...state, Next: 'Nowhere' } : state));

  it('find a transition to a state that does not exist', async () => {
    expect(validatorFindings(broken).join()).toContain('Nowhere');
    expect((await serviceFindings(broken)).join()).toContain('Nowhere');
  });
});
