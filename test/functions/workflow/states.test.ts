import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type * as z from 'zod/mini';
import * as states from '../../../functions/workflow/states.ts';
import { Invocation } from '../../../functions/workflow/step.ts';

const FOLDER = new URL('./recorded-states/', import.meta.url);

/** The schema with which each state's function parses its input. */
const SCHEMAS: Readonly<Record<string, z.ZodMiniType>> = {
  PlanExport: states.PlanExportInput,
  GetToken: states.TokenRequest,
  GetWindowToken: states.TokenRequest,
  CreateReport: states.ReportWindow,
  CheckReport: states.ReportWindow,
  SaveReport: states.ReadyWindow,
  QueryPurchases: states.PurchasesWindow,
  ExportList: states.ListWindow,
  CurateReport: states.SavedWindow,
  PublishWindow: states.SavedWindow,
  PublishExport: states.PublishExportInput,
  DescribeFailure: states.DescribeFailureInput,
  DescribeWindowFailure: states.WindowFailure,
};

interface Recorded {
  readonly state: string;
  readonly input: Readonly<Record<string, unknown>>;
}

function recordedIn(file: string): Recorded[] {
  const lines = readFileSync(new URL(file, FOLDER), 'utf8').split('\n');
  return lines.filter(Boolean).map((line) => JSON.parse(line));
}

const LATEST = readdirSync(FOLDER).sort().at(-1);

// Executions keep the definition of the release that started them, but call the functions of this one.
describe.each(readdirSync(FOLDER))('an execution that the release %s started', (file) => {
  const recorded = recordedIn(file);

  it.each(Object.keys(SCHEMAS))('can call %s', (name) => {
    const inputs = recorded.filter(({ state }) => state === name);
    // An earlier release may not have had the step.
    if (file === LATEST) expect(inputs.length).toBeGreaterThan(0);
    for (const { input } of inputs) {
      const { success, error } = SCHEMAS[name]?.safeParse(input) ?? {};
      expect(success, JSON.stringify([error?.issues, input])).toBe(true);
    }
  });

  it('has no state without a function', () => {
    expect(Object.keys(SCHEMAS)).toEqual(expect.arrayContaining(recorded.map(({ state }) => state)));
  });

  it('keeps each result of a window', () => {
    const results = recorded.flatMap(({ state, input }) =>
      state === 'PublishExport' ? ((input.results as unknown[] | undefined) ?? []) : [],
    );
    expect(results.length).toBeGreaterThan(0);
    for (const result of results) expect(states.WindowResult.safeParse(result).success).toBe(true);
  });
});

it('a state may send its function only a state and its retries, as the first release did', () => {
  expect(Invocation.safeParse({ state: {}, retry_count: 0 }).success).toBe(true);
});

describe('a copy that an earlier release did not finish', () => {
  const [recorded] = recordedIn('2026-11-22.jsonl').filter(
    ({ state, input }) => state === 'SaveReport' && 'checkpoint' in input,
  );
  const window = states.ReadyWindow.parse(recorded?.input);

  it('is resumed from a checkpoint that this release can read', () => {
    expect(window.checkpoint).toMatchObject({ upload_id: expect.any(String), json: { first: '[' } });
    expect(recorded?.input.checkpoint).toMatchObject(window.checkpoint ?? {});
  });

  it.each([
    ['without a checksum of the file', { ...window.checkpoint, etag: undefined }],
    ['of another shape', { upload_id: 'u1', parts: [] }],
    ['that is not an object', 7],
  ])('starts again if its checkpoint is one %s', (_, checkpoint) => {
    const { checkpoint: dropped, ...rest } = states.ReadyWindow.parse({ ...window, checkpoint });
    expect(dropped).toBeUndefined();
    const { checkpoint: __, ...before } = window;
    expect(rest).toEqual(before);
  });

  it('starts again if the release named the checkpoint `copying`', () => {
    const old = recordedIn('2026-11-21.jsonl').filter(({ input }) => 'copying' in input);
    expect(old.length).toBeGreaterThan(0);
    for (const { state, input } of old) expect(SCHEMAS[state]?.parse(input)).not.toHaveProperty('checkpoint');
  });
});
