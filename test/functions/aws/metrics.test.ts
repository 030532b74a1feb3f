import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { metricsIn } from '../../support/emf.ts';

const METRICS = new URL('../../../functions/aws/metrics.ts', import.meta.url).href;

// Runs in its own process, whose stdout is what Lambda would read.
it('writes a measurement as one line to stdout, bypassing the console that the runtime wraps', () => {
  const script = `
    console.log = (text) => process.stdout.write(JSON.stringify({ level: 'INFO', message: text }));
    const { createMeter } = await import(${JSON.stringify(METRICS)});
    const about = { execution: 'e', account: 'acme', kind: 'other', attempt: 2, window: undefined };
    createMeter()({ values: { Retries: 1 }, dimensions: { kind: 'CopyFailed' } }, about);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    env: { POWERTOOLS_SERVICE_NAME: 'exports-test' },
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(stdout.split('\n')).toHaveLength(2);
  expect(metricsIn([{ function: 'f', stream: 'stdout', text: stdout }])).toEqual([
    {
      namespace: 'AdReportExport',
      name: 'Retries',
      unit: 'Count',
      value: 1,
      dimensions: { service: 'exports-test', kind: 'CopyFailed' },
      properties: { execution: 'e', account: 'acme', attempt: '2' },
    },
  ]);
});
