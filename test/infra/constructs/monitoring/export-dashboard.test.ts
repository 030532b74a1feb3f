import { describe, expect, it } from 'vitest';
import { TokenRefused } from '../../../../functions/workflow/errors.ts';
import { METRICS, measureError, measureStep } from '../../../../functions/workflow/measure.ts';
import { readable, resourcesOf, synthesizeStack } from '../../../support/stack.ts';
import { windowOf } from '../../../support/steps.ts';

interface Widget {
  readonly type: string;
  readonly properties: {
    readonly title?: string;
    readonly metrics?: readonly (readonly [{ readonly expression?: string }])[];
  };
}

const [dashboard] = resourcesOf(synthesizeStack(), 'AWS::CloudWatch::Dashboard').values();
const { widgets } = JSON.parse(String(readable(dashboard?.Properties.DashboardBody))) as {
  widgets: Widget[];
};
const searches = widgets.flatMap(({ properties }) =>
  (properties.metrics ?? []).flatMap(([{ expression }]) => (expression === undefined ? [] : [expression])),
);

describe('the dashboard', () => {
  it('has the Region in its name, because its name is taken in all Regions of an AWS account', () => {
    expect(readable(dashboard?.Properties.DashboardName)).toBe('exports-test-<AWS::Region>');
  });

  it('searches each metric by the dimensions that it is written with', () => {
    const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
    const now = new Date('2026-11-02T06:00:00Z');
    const curated = { newest_day: '2026-11-01' };
    const table = { restated: 1, held: 1, table_problem: 'x' };
    const delivered = { outcome: 'delivered', window: window.window, bytes: 1, rows: 0, ...table };
    const written = [
      ...measureStep({ ...window, curated }, delivered, now),
      ...measureStep(window, { failure: { error: 'X' } }, now),
      ...measureError(window, new TokenRefused(''), now),
    ];
    for (const { values, dimensions } of written) {
      const schema = ['AdReportExport', 'service', ...Object.keys(dimensions)].join();
      for (const name of Object.keys(values)) {
        expect(Object.keys(METRICS)).toContain(name);
        expect(searches.join('\n')).toContain(`{${schema}} MetricName="${name}"`);
      }
    }
  });
});
