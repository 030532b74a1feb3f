import fc from 'fast-check';

/** Faults of any call of the platform. */
const ANY = [
  ...[400, 401, 403, 404, 409, 422, 500, 502, 503].map((status) => `status=${status}`),
  'status=429',
  'status=429 retry_after=30',
  'status=429 retry_after=date:90',
  'status=429 retry_after=86400',
  'reset=before',
  'reset=after',
  'hang',
  'hang processed',
  'trickle=1',
  'revoke',
  'body=""',
  'body="<html>sbx_at_of_a_page</html>"',
  'body={"broken":',
  'status=500 omit=error',
  'status=422 set.error.detail={"validation":[{"field":"metrics"}]}',
];

const TOKEN = [
  'status=401',
  'status=400 body={"error":"invalid_grant"}',
  'status=401 header.www-authenticate=Basic',
  ...['0', '5', '-1', '"3600"', '1e12'].map((seconds) => `set.expires_in=${seconds}`),
  'omit=expires_in',
  'omit=access_token',
  'set.token_type=mac',
];

const CREATE = ['omit=id', 'set.id=""', 'set.id="../x"', 'status=200', 'omit=status'];

const REPORT = [
  ...['set.status=PROCESSING omit=download_url', 'set.status=QUEUED', 'set.status=FAILED'],
  ...['omit=status', 'omit=download_url', 'set.download_url="not a URL"', 'set.id="other"'],
  'set.download_url="https://169.254.169.254/x?sig=sbx_sig_x"',
  'set.download_url="https://user:sbx_cs_x@127.0.0.1/x"',
];

/** Pages smaller than the limit, an end that is refused, a refusal in the middle, and a rate limit. */
const LIST = [
  ...['page=1', 'page=2', 'page=7', 'beyond=404', 'page=2 beyond=400', 'page=10 beyond=416'],
  ...['status=400', 'status=404', 'status=429 retry_after=60', 'status=429'],
];

const STORAGE = [
  ...[
    'status=302 header.location=http://127.0.0.1:1/',
    'status=403',
    'status=404',
    'status=500',
    'status=503',
  ],
  ...['reset=before', 'hang', 'trickle=1', 'changed', 'endless', 'ignore_range', 'etag=weak', 'etag=none'],
  ...['body=""', 'body="[]"', 'body="<html>sbx_sig_of_a_page</html>"', 'gzip=right', 'gzip=wrong'],
];

/** A body that breaks off, and what makes it hard to resume. */
const breaks = fc
  .tuple(
    fc.constantFrom('reset_after', 'cut_after', 'stall_after'),
    fc.oneof(fc.integer({ min: 0, max: 600 }), fc.integer({ min: 1024 ** 2, max: 12 * 1024 ** 2 })),
    fc.constantFrom('', 'framing=length', 'framing=chunked', 'framing=close'),
    fc.constantFrom('', '', 'etag=weak', 'etag=none', 'ignore_range', 'changed', 'gzip=right'),
  )
  .map(([how, bytes, ...others]) => [`${how}=${bytes}`, ...others].filter(Boolean).join(' '));

/** Faults by endpoint. */
const FAULTS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  any: fc.constantFrom('status=500', 'reset=before', 'revoke'),
  token: fc.constantFrom(...ANY, ...TOKEN),
  create: fc.constantFrom(...ANY, ...CREATE),
  report: fc.constantFrom(...ANY, ...REPORT),
  purchases: fc.constantFrom(...ANY),
  list: fc.constantFrom(...ANY, ...LIST, ...LIST),
  storage: fc.oneof(fc.constantFrom(...STORAGE), breaks),
};

/** A time-out takes real time. Many in a row would take minutes. */
const SLOW = /hang|trickle|stall_after|retry_after=86400/;

/** What a platform does all the time: one small page would look like the end of a list. */
const STEADY = /page=|beyond=/;

const times = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('1', '2', '3', '5') },
  { weight: 1, arbitrary: fc.constant('always') },
);

/** A fault of one of these endpoints at a random call, in the words of parseFault. */
export function platformFault(endpoints: readonly string[]): fc.Arbitrary<string> {
  const what = fc.oneof(
    ...endpoints.map((endpoint) =>
      (FAULTS[endpoint] ?? fc.constant('')).map((fault) => `${endpoint} ${fault}`),
    ),
  );
  return fc
    .tuple(what, fc.constantFrom(1, 1, 1, 2, 3, 4), times)
    .map(([fault, nth, many]) =>
      STEADY.test(fault)
        ? `${fault} times=always`
        : `${fault} nth=${nth} times=${SLOW.test(fault) ? 1 : many}`,
    );
}
