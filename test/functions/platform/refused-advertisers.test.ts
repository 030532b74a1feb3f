import { expect, test } from 'vitest';
import { refusedAdvertisers } from '../../../functions/platform/refused-advertisers.ts';

const [one, two, three] = ['11111111', '22222222', '33333333'].map(
  (start) => `${start}-5d4a-4b7e-9c61-0a1b2c3d4e5f`,
) as [string, string, string];
const ids = [one, two, three];
const window = { start_date: '2026-10-01', end_date: '2026-10-08' };
const request = {
  options: { attribution_window: '7d_click', filters: { event_source_platform: ['ios'] } },
  metrics: ['spend', 'number_of_purchases'],
  dimensions: ['campaign_id'],
};

function refusal(status: number, error: object, fields: object = {}) {
  const text = JSON.stringify({ error: { request_id: one, doc_url: 'https://x.example/metrics', ...error } });
  return refusedAdvertisers({ status, text }, { ...request, ...fields }, window, ids);
}

test.each([
  ['an object by field', { advertiser_ids: [`${two} is not granted`] }],
  ['an object by field and id', { advertiser_ids: { [two.toUpperCase()]: 'not granted' } }],
  ['an object with other failures of no field', { advertiser_ids: [two], message: 'Validation failed.' }],
  ['a list of objects', [{ field: 'advertiser_ids[1]', message: `${two} has an invalid UUID format` }]],
  ['a list with places', [{ loc: ['body', 'advertiser_ids', 1], msg: 'unknown', input: two }]],
  ['a list of sentences', [`advertiser_ids: ${two} is unknown`]],
  ['a sentence', `advertiser_ids may not have ${two}`],
])('54: a 422 whose validation is %s refuses the advertiser that it names', (_, validation) => {
  expect(refusal(422, { detail: { validation } })).toEqual([two]);
  expect(refusal(403, { detail: { validation } })).toEqual([two]);
});

test.each([
  ['names none', { validation: { advertiser_ids: ['one of them is not granted'] } }],
  ['names another field', { validation: { metrics: [`spend is not there for ${two}`] } }],
  ['names a field beside it', { validation: { advertiser_ids: [two], dimensions: ['unknown'] } }],
  ['names a metric', { validation: [`advertiser_ids: ${two} has no Number Of Purchases`] }],
  ['names an option', { validation: [`advertiser_ids: ${two} has no attributionWindow`] }],
  ['names the value of an option', { validation: [`advertiser_ids: ${two} has no events of iOS`] }],
  ['names a date', { validation: [`advertiser_ids: ${two} has no data before 2026-10-08`] }],
  ['has a list of another field', [{ field: 'metrics', message: `not for advertiser_ids ${two}` }]],
  ['has no validation', { advertisers: [two] }],
  ['is a sentence', `The advertiser ${two} is not granted.`],
])('54: a 422 refuses no advertiser if its detail %s', (_, detail) => {
  expect(refusal(422, { message: `Not for ${two}.`, detail })).toEqual([]);
});

test.each([
  ['its message', { type: 'insufficient_scope', message: `Advertisers ${two} and ${one} are not yours.` }],
  ['its detail', { type: 'forbidden', message: 'No.', detail: { advertisers: [one, two] } }],
])('54: a 403 refuses the advertisers that %s names', (_, error) => {
  expect(refusal(403, error)).toEqual([one, two]);
});

test.each([
  { dimensions: ['advertiser_id'] },
  { dimensions: ['advertiserId', 'Advertiser'] },
  { options: { level: 'advertiser' } },
])('54: a refusal of advertisers is one for the request with %j too', (fields) => {
  const validation = [{ field: 'advertiser_ids', message: `advertiser ${two} is not accessible` }];
  expect(refusal(422, { detail: { validation } }, fields)).toEqual([two]);
  expect(refusal(403, { message: `The advertiser ${two} is not yours.` }, fields)).toEqual([two]);
});

test('54: a 403 names very many advertisers', () => {
  const many = Array.from({ length: 500 }, (_, at) => one.replace(/....$/, String(1000 + at)));
  const text = JSON.stringify({ error: { message: `Not yours: ${many.join(', ')}` } });
  expect(refusedAdvertisers({ status: 403, text }, request, window, [...many, two])).toEqual(many);
});

test.each([
  ['a metric', `The metric spend is not there for ${two}.`],
  ['a metric without its name', `This metric needs another contract for ${two}.`],
  ['a metric in other words', `${two} may not read the number of purchases.`],
  ['a dimension', `${two} may not be split by campaignId.`],
  ['an option', `${two} may not use attribution_window.`],
  ['a date', `${two} has no data on 2026-10-01.`],
])('54: a 403 that also names %s refuses no advertiser', (_, message) => {
  expect(refusal(403, { type: 'forbidden', message })).toEqual([]);
});

test('54: any other answer refuses no advertiser', () => {
  for (const status of [201, 400, 401, 404, 500]) expect(refusal(status, { message: two })).toEqual([]);
});
