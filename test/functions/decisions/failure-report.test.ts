import { describe, expect, it } from 'vitest';
import { AWS_ERRORS, createFailureReport, runbookLink } from '../../../functions/decisions/failure-report.ts';
import { errors, ReportStuck } from '../../../functions/workflow/errors.ts';
import { caughtFrom } from '../../support/failures.ts';

const failed_at = '2026-11-21T06:00:00.500Z';
const subject = { execution: 'e', now: () => new Date(failed_at), program: 'npm run export --' };

describe('createFailureReport', () => {
  it('has only the fields that are known', () => {
    expect(createFailureReport({ Error: 'States.Timeout' }, subject)).toStrictEqual({
      version: '1',
      error: 'StepFunctions.Timeout',
      failed_at,
      happened: 'Nothing more is known.',
      execution: 'e',
      todo: "Read the execution's history and the function's log, then run the export again.",
      runbook: 'infra/RUNBOOK.md#stepfunctionstimeout',
      report_ids: [],
      request_ids: [],
    });
  });

  it.each(AWS_ERRORS)('reports no name that AWS reserves: %s', (name) => {
    const report = createFailureReport({ Error: name }, subject);
    expect(report.error).toBe(name.replace('States.', 'StepFunctions.'));
    expect(report.runbook).not.toContain('othererror');
  });

  it.each([
    ['ReportStuck', 'give the platform the report ids, and the request ids if there are any', 'reportstuck'],
    ['LoginRequired', 'npm run export -- login --account acme', 'loginrequired'],
    ['CredentialUnusable', 'npm run export -- secret set acme < credential.json', 'credentialunusable'],
    ['DownloadRefused', 'If the message names a setting or an address, correct it', 'downloadrefused'],
    ['SomethingNew', "Read the execution's history", 'othererror'],
    ['constructor', "Read the execution's history", 'othererror'],
  ])('says what to do after %s, and links to its section of the runbook', (name, todo, section) => {
    const report = createFailureReport(
      { Error: name },
      { ...subject, request: { account: 'acme', name: 'daily' } },
    );
    expect(report.todo).toContain(todo);
    expect(report.runbook).toBe(`infra/RUNBOOK.md#${section}`);
  });

  it('says something different after each error, except for errors that only need another run', () => {
    const todos = Object.keys(errors).map((name) => createFailureReport({ Error: name }, subject).todo);
    expect(todos.filter((todo, index) => todos.indexOf(todo) !== index)).toEqual(['Run the export again.']);
    for (const todo of todos) expect(todo).toMatch(/^[A-Z].{15,}\.$/);
  });

  it('links to a heading that contains spaces and other characters', () => {
    expect(runbookLink('X', 'https://wiki.example/runbook')).toBe('https://wiki.example/runbook#x');
    expect(runbookLink('Windows take_too-long (P4)!')).toBe('infra/RUNBOOK.md#windowstake_too-longp4');
  });

  it.each([
    [{ request_id: 'a' }, ['a']],
    [{ request_ids: ['a', 'b'] }, ['a', 'b']],
    [{ request_id: undefined }, []],
  ])('has the request ids of %j', (facts, request_ids) => {
    const report = createFailureReport(caughtFrom(new ReportStuck('No.', facts)), subject);
    expect(report.request_ids).toEqual(request_ids);
  });
});
