import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../infra/cli/outcome.ts';

const card = {
  version: '1',
  error: 'RequestRefused',
  happened: 'No.',
  todo: 'Correct it.',
  execution: 'daily-1',
};

describe('the outcome of an execution that failed', () => {
  it.each([
    [
      'the message of the function that ended it',
      { errorType: 'RequestRefused', errorMessage: JSON.stringify(card), trace: [] },
    ],
    ['it as it is', card],
  ])('is the card, where its Cause holds %s', (_, cause) => {
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', cause: JSON.stringify(cause) });
    expect(outcome).toEqual({ outcome: 'failed', ...card });
  });

  it.each([
    ['of a function that broke', '{"errorType":"Error","errorMessage":"no such key"}'],
    ['in plain text', 'The state TakeRequest was too large.'],
    ['of JSON that is no object', '17'],
    ['that is not there', undefined],
  ])('says what is known, where there is a Cause %s', (_, cause) => {
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', error: 'States.Runtime', cause });
    expect(outcome).toMatchObject({ outcome: 'failed', error: 'States.Runtime', execution: 'daily-1' });
    expect(outcome).toHaveProperty('happened', cause ?? 'The execution ended as FAILED.');
  });
});
