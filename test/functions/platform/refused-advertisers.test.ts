import { expect, test } from 'vitest';
import { refusedAdvertisers } from '../../../functions/platform/refused-advertisers.ts';

const [firstId, secondId, thirdId] = ['11111111', '22222222', '33333333'].map(
  (start) => `${start}-5d4a-4b7e-9c61-0a1b2c3d4e5f`,
) as [string, string, string];
const ids = [firstId, secondId, thirdId];
const window = { start_date: '2026-10-01', end_date: '2026-10-08' };
const request = {
  options: { attribution_window: '7d_click', filters: { event_source_platform: ['ios'] } },
  metrics: ['spend', 'number_of_purchases'],
  dimensions: ['campaign_id'],
};

function refusal(status: number, error: object, fields: object = {}) {
  const text = JSON.stringify({
    error: { request_id: firstId, doc_url: 'https://x.example/metrics', ...error },
  });
  return refusedAdvertisers({ status, text }, { ...request, ...fields }, window, ids);
}

test.each([
  ['an object by field', { advertiser_ids: [`${secondId} is not granted`] }],
  ['an object by field and id', { advertiser_ids: { [secondId.toUpperCase()]: 'not granted' } }],
  [
    'an object with other failures of no field',
    { advertiser_ids: [secondId], message: 'Validation failed.' },
  ],
  ['a list of objects', [{ field: 'advertiser_ids[1]', message: `${secondId} has an invalid UUID format` }]],
  ['a list with places', [{ loc: ['body', 'advertiser_ids', 1], msg: 'unknown', input: secondId }]],
  ['a list of sentences', [`advertiser_ids: ${secondId} is unknown`]],
  ['a sentence', `advertiser_ids may not have ${secondId}`],
])('54: a 422 whose validation is %s refuses the advertiser that it names', (_, validation) => {
  expect(refusal(422, { detail: { validation } })).toEqual([secondId]);
  expect(refusal(403, { detail: { validation } })).toEqual([secondId]);
});

test.each([
  ['names none', { validation: { advertiser_ids: ['one of them is not granted'] } }],
  ['names another field', { validation: { metrics: [`spend is not there for ${secondId}`] } }],
  ['names a field beside it', { validation: { advertiser_ids: [secondId], dimensions: ['unknown'] } }],
  ['names a metric', { validation: [`advertiser_ids: ${secondId} has no Number Of Purchases`] }],
  ['names an option', { validation: [`advertiser_ids: ${secondId} has no attributionWindow`] }],
  ['names the value of an option', { validation: [`advertiser_ids: ${secondId} has no events of iOS`] }],
  ['names a date', { validation: [`advertiser_ids: ${secondId} has no data before 2026-10-08`] }],
  ['has a list of another field', [{ field: 'metrics', message: `not for advertiser_ids ${secondId}` }]],
  ['has no validation', { advertisers: [secondId] }],
  ['is a sentence', `The advertiser ${secondId} is not granted.`],
])('54: a 422 refuses no advertiser if its detail %s', (_, detail) => {
  expect(refusal(422, { message: `Not for ${secondId}.`, detail })).toEqual([]);
});

test.each([
  [
    'its message',
    { type: 'insufficient_scope', message: `Advertisers ${secondId} and ${firstId} are not yours.` },
  ],
  ['its detail', { type: 'forbidden', message: 'No.', detail: { advertisers: [firstId, secondId] } }],
])('54: a 403 refuses the advertisers that %s names', (_, error) => {
  expect(refusal(403, error)).toEqual([firstId, secondId]);
});

test.each([
  { dimensions: ['advertiser_id'] },
  { dimensions: ['advertiserId', 'Advertiser'] },
  { options: { level: 'advertiser' } },
])('54: a refusal of advertisers is one for the request with %j too', (fields) => {
  const validation = [{ field: 'advertiser_ids', message: `advertiser ${secondId} is not accessible` }];
  expect(refusal(422, { detail: { validation } }, fields)).toEqual([secondId]);
  expect(refusal(403, { message: `The advertiser ${secondId} is not yours.` }, fields)).toEqual([secondId]);
});

test('54: a 403 names very many advertisers', () => {
  const many = Array.from({ length: 500 }, (_, at) => firstId.replace(/....$/, String(1000 + at)));
  const text = JSON.stringify({ error: { message: `Not yours: ${many.join(', ')}` } });
  expect(refusedAdvertisers({ status: 403, text }, request, window, [...many, secondId])).toEqual(many);
});

test.each([
  ['a metric', `The metric spend is not there for ${secondId}.`],
  ['a metric without its name', `This metric needs another contract for ${secondId}.`],
  ['a metric in other words', `${secondId} may not read the number of purchases.`],
  ['a dimension', `${secondId} may not be split by campaignId.`],
  ['an option', `${secondId} may not use attribution_window.`],
  ['a date', `${secondId} has no data on 2026-10-01.`],
])('54: a 403 that also names %s refuses no advertiser', (_, message) => {
  expect(refusal(403, { type: 'forbidden', message })).toEqual([]);
});

test('54: any other answer refuses no advertiser', () => {
  for (const status of [201, 400, 401, 404, 500]) expect(refusal(status, { message: secondId })).toEqual([]);
});
