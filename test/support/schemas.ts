import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import * as z from 'zod/mini';
import { Manifest } from '../../functions/days/manifest.ts';
import { Readiness } from '../../functions/workflow/ready.ts';
import { FailureReport } from '../../functions/workflow/state-parts.ts';
import { ExportResult } from '../../functions/workflow/states.ts';
import { MartCheck } from '../../infra/operate/check/check-mart.ts';

/** The documents that programs read, by the name of their file in functions/schemas. */
const DOCUMENTS = {
  manifest: [Manifest, 'The _manifest.json of a delivered window'],
  'report-exported': [ExportResult, 'The detail of the event Report Exported, and the result of a run'],
  'failure-report': [FailureReport, 'A _failure.json, and the detail of the event Report Export Failed'],
  readiness: [Readiness, 'The detail of the events Report Late and Report Ready'],
  'mart-check': [MartCheck, 'The result of check with --sql or --file'],
} as const;
export type DocumentName = keyof typeof DOCUMENTS;
export const DOCUMENT_NAMES = Object.keys(DOCUMENTS) as DocumentName[];

/** @param strict refuses fields that the schema does not have. A later version may add some */
export function schemaOf(name: DocumentName, { strict = false } = {}) {
  const [schema, title] = DOCUMENTS[name];
  const { $schema, ...fields } = z.toJSONSchema(schema, {
    io: strict ? 'output' : 'input',
    // Our own types are objects: the request, and the sums by metric.
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'custom') jsonSchema.type = 'object';
    },
  });
  return { $schema, title, ...fields };
}

const validators = new Map<DocumentName, ValidateFunction>();

/** Checks a document that was written, by the schema of this name. */
export function expectToMatchSchema(name: DocumentName, document: unknown): void {
  const validate =
    validators.get(name) ?? new Ajv2020({ strict: true }).compile(schemaOf(name, { strict: true }));
  validators.set(name, validate);
  validate(document);
  expect(validate.errors ?? []).toEqual([]);
}
