import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { drawWorkflow, insertPicture } from '../../infra/workflow-picture.ts';
import { synthesizeStack } from '../support/stack.ts';

const { definition } = synthesizeStack();
const picture = drawWorkflow(definition);

describe('the picture of the workflow', () => {
  it("is the README's; 'npm run picture' draws it anew", () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    expect(readme === insertPicture(readme, picture), 'the README shows another workflow').toBe(true);
  });

  it('has every state and every arrow, those after a failure dotted', () => {
    const machine = {
      StartAt: 'Plan',
      States: {
        Failed: { Type: 'Fail' },
        Each: {
          Type: 'Map',
          ItemsPath: '$.items',
          MaxConcurrencyPath: '$.limit',
          ItemProcessor: { StartAt: 'Pause', States: { Pause: { Type: 'Wait', End: true } } },
          Catch: [
            { ErrorEquals: ['One', 'Two'], Next: 'Done' },
            { ErrorEquals: ['States.ALL'], Next: 'Failed' },
          ],
          Next: 'Done',
        },
        Done: { Type: 'Succeed' },
        Plan: {
          Type: 'Choice',
          Choices: [
            {
              And: [
                { Variable: '$.caught', IsPresent: true },
                { Variable: '$.caught.Error', StringEquals: 'One' },
              ],
              Next: 'Done',
            },
            { Variable: '$.extra', IsPresent: false, Next: 'Each' },
          ],
          Default: 'Failed',
        },
      },
    };
    expect(
      drawWorkflow(machine)
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual([
      'flowchart TD',
      'start((start))',
      'start --> Plan',
      'Plan{Plan}',
      'Plan -->|"caught.Error is One"| Done',
      'Plan -->|"extra is absent"| Each',
      'Plan -->|"otherwise"| Failed',
      'Done([Done])',
      'subgraph Each["Each: an execution for each of items, limit at a time"]',
      'Each-start(( ))',
      'Each-start --> Pause',
      'Pause[/Pause/]',
      'end',
      'Each --> Done',
      'Each -.->|"One, Two"| Done',
      'Each -.->|"any other error"| Failed',
      'Failed([Failed])',
    ]);
  });

  it('is not drawn where a condition has no words yet', () => {
    const choice = { Type: 'Choice', Choices: [{ Variable: '$.n', NumericEquals: 1, Next: 'A' }] };
    expect(() => drawWorkflow({ StartAt: 'A', States: { A: choice } })).toThrow('has no words');
  });

  it('goes between its markers, and nowhere else', () => {
    const readme = 'before\n<!-- workflow -->\nold\n<!-- /workflow -->\nafter\n';
    const drawn = insertPicture(readme, 'flowchart TD');
    expect(drawn).toBe(
      'before\n<!-- workflow -->\n\n```mermaid\nflowchart TD\n```\n\n<!-- /workflow -->\nafter\n',
    );
    expect(insertPicture(drawn, 'flowchart TD')).toBe(drawn);
    expect(() => insertPicture('no markers', 'flowchart TD')).toThrow('<!-- workflow -->');
  });
});
