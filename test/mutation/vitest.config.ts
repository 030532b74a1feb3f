import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import standard from '../../vitest.config.ts';

/** What a step's own tests find needs no whole run, which takes a hundred times as long; a mutant ends at its first failure. */
class StepsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isWhole = ({ moduleId }: TestSpecification) => moduleId.includes('/test/workflow/');
    return [...files.filter((file) => !isWhole(file)), ...files.filter(isWhole)];
  }
}

// Not merged: that would add to the files of the standard configuration instead of taking their place.
export default defineConfig({
  test: {
    ...standard.test,
    exclude: [],
    include: ['test/functions/**/*.test.ts', 'test/workflow/**/*.test.ts'],
    sequence: { shuffle: false, sequencer: StepsFirst },
  },
});
