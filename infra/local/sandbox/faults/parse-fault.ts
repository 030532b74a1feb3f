import { ENDPOINTS, type Endpoint } from '../exchange.ts';
import type { Fault } from './faults.ts';

/**
 * Reads a fault from one line of words: the calls it is about, then what happens to them.
 *
 *     GET /reports/{id} nth=2 times=3 status=500
 *     token set.expires_in="3600"                    a string where a number belongs
 *     POST /oauth2/token omit=expires_in times=always
 *     report status=429 retry_after=date:120
 *     create reset=after                             processed, but the answer is lost
 *     report=1 set.status=PROCESSING omit=download_url times=always       the first report is never READY
 *     storage cut_after=1000 framing=close
 *     any body="<html>Bad gateway</html>" header.content-type=text/html
 *
 * Calls: an endpoint (token, authorize, create, report, purchases, list, storage, any) or the request itself, with
 * `{id}` for a report's; `report=N` alone is every call about the Nth report created. `nth` (default 1) is the first
 * of the matching calls to go wrong and `times` (default 1, or `always`) how many do.
 *
 * What happens, all of which may be combined: status=N, header.NAME=V, without_header=NAME, retry_after=SECONDS or
 * date:SECONDS, body=TEXT, set.PATH=JSON, omit=PATH, processed, revoke, hang, trickle=MS, reset=before|after; and on
 * the storage host reset_after=BYTES, cut_after=BYTES, stall_after=BYTES, framing=length|chunked|close,
 * etag=weak|none, changed, ignore_range, gzip=right|wrong, endless. Several names in one word are split by commas. A value with
 * spaces stands in double quotes.
 *
 * @throws TypeError that names the word it does not know, or says that nothing would happen
 */
export function parseFault(text: string): Fault {
  const [first = '', ...others] = words(text);
  const target = endpointOf(first, others);
  const fault: Fault = { on: target.on, ...(target.path === undefined ? {} : { path: target.path }) };
  for (const word of target.rest) Object.assign(fault, effectOf(word, fault));
  if (Object.keys(fault).every((key) => ONLY_SELECTS.has(key)))
    throw new TypeError(
      `A fault says what happens to the calls, and "${text}" does not. Add for example: status=500`,
    );
  return fault;
}

/** Fields that say which calls a fault is about, and nothing of what happens to them. */
const ONLY_SELECTS: ReadonlySet<string> = new Set([
  'on',
  'path',
  'report',
  'nth',
  'times',
] satisfies (keyof Fault)[]);

/** Words are split at spaces, but not at those within double quotes or, in a JSON value, within braces. */
function words(text: string): string[] {
  const found = text.trim().match(/(?:"(?:\\.|[^"\\])*"|\{[^{}]*\}|\S)+/g);
  if (!found) throw new TypeError('A fault is empty. Write for example: GET /reports/{id} nth=2 status=500');
  return found;
}

const REQUESTS: Readonly<Record<string, Endpoint>> = {
  'POST /oauth2/token': 'token',
  'GET /oauth2/auth': 'authorize',
  'POST /reports': 'create',
  'GET /reports/{id}': 'report',
  'POST /reports/purchases': 'purchases',
};

function endpointOf(first: string, others: string[]): { on: Fault['on']; path?: string; rest: string[] } {
  if (first.includes('=')) return { on: 'any', rest: [first, ...others] };
  if (first === 'any') return { on: 'any', rest: others };
  const named = ENDPOINTS.find((name) => name === first);
  if (named) return { on: named, rest: others };
  const [path = '', ...rest] = others;
  const request = REQUESTS[`${first} ${path}`];
  if (request) return { on: request, rest };
  if (first === 'GET' && /^\/[a-z_]+$/.test(path)) return { on: 'list', path, rest };
  throw new TypeError(
    `A fault begins with an endpoint or a request of the platform, not with "${`${first} ${path}`.trim()}".`,
  );
}

type Reader = (value: string) => Partial<Fault>;

const READERS: Readonly<Record<string, Reader>> = {
  nth: (value) => ({ nth: ordinal(value) }),
  times: (value) => ({ times: value === 'always' ? Infinity : ordinal(value) }),
  report: (value) => ({ report: ordinal(value) }),
  status: (value) => ({ status: count(value) }),
  retry_after: retryAfter,
  body: (value) => ({ body: value }),
  trickle: (value) => ({ trickle: count(value) }),
  reset: (value) => ({ reset: choice(value, ['before', 'after']) }),
  reset_after: (value) => ({ resetAfter: count(value) }),
  cut_after: (value) => ({ cutAfter: count(value) }),
  stall_after: (value) => ({ stallAfter: count(value) }),
  framing: (value) => ({ framing: choice(value, ['length', 'chunked', 'close']) }),
  etag: (value) => ({ etag: choice(value, ['weak', 'none']) }),
  gzip: (value) => ({ gzip: choice(value, ['right', 'wrong']) }),
};

const FLAGS: Readonly<Record<string, Partial<Fault>>> = {
  processed: { processed: true },
  revoke: { revoke: true },
  hang: { hang: true },
  changed: { changed: true },
  ignore_range: { ignoreRange: true },
  endless: { endless: true },
};

function effectOf(word: string, fault: Fault): Partial<Fault> {
  const [, key = '', raw] = word.match(/^([^=]+)(?:=(.*))?$/s) ?? [];
  if (raw === undefined) return known(FLAGS[key], word);
  // A quoted JSON string stays a string: expires_in="3600" is not expires_in=3600.
  if (key.startsWith('set.')) return { set: { ...fault.set, [key.slice(4)]: jsonOrText(raw) } };
  const value = raw.startsWith('"') ? String(jsonOrText(raw)) : raw;
  if (key.startsWith('header.'))
    return { headers: { ...fault.headers, [key.slice(7).toLowerCase()]: value } };
  if (key === 'omit') return { omit: [...(fault.omit ?? []), ...value.split(',')] };
  if (key === 'without_header')
    return { withoutHeaders: [...(fault.withoutHeaders ?? []), ...value.split(',')] };
  return known(READERS[key], word)(value);
}

function known<Item>(item: Item | undefined, word: string): Item {
  if (item === undefined) throw new TypeError(`A fault does not know the word "${word}".`);
  return item;
}

function count(value: string): number {
  if (!/^\d+$/.test(value)) throw new TypeError(`A fault needs a whole number, not "${value}".`);
  return Number(value);
}

/** What is counted from 1: the fault of a call before the first would never be seen. */
function ordinal(value: string): number {
  if (count(value) === 0) throw new TypeError('A fault counts calls and reports from 1, not from "0".');
  return count(value);
}

function choice<Name extends string>(value: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === value);
  if (!found) throw new TypeError(`A fault needs one of ${names.join(', ')}, not "${value}".`);
  return found;
}

function retryAfter(value: string): Partial<Fault> {
  const [, date, seconds = ''] = value.match(/^(date:)?(.*)$/) ?? [];
  return { retryAfter: { seconds: count(seconds), as: date === undefined ? 'seconds' : 'date' } };
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
