import { createRequire } from 'node:module';
import languageService from 'amazon-states-language-service';
import { expect, it } from 'vitest';
import { loadAssembly, prepareAssembly } from '../../infra/lab/local/assembly/assembly.ts';
import { type Definition, mapStates } from '../../infra/lab/local/step-functions/step-functions.ts';

interface Validation {
  readonly errors: readonly { readonly 'Error code': string; readonly Message: string }[];
}

/** The package has no types. */
const validate: (definition: object, options: object) => Validation = createRequire(import.meta.url)(
  'asl-validator',
);

const { definition } = loadAssembly(prepareAssembly()).stateMachine;

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

it('the state machine has no finding of asl-validator', () => {
  expect(validatorFindings(definition)).toEqual([]);
});

it('the state machine has no finding of amazon-states-language-service', async () => {
  expect(await serviceFindings(definition)).toEqual([]);
});

it('both find a transition to a state that does not exist', async () => {
  const broken = mapStates(definition, (state) => (state.Next ? { ...state, Next: 'Nowhere' } : state));
  expect(validatorFindings(broken).join()).toContain('Nowhere');
  expect((await serviceFindings(broken)).join()).toContain('Nowhere');
});
