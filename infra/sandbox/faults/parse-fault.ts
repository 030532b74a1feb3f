import { parseJson } from '../../../functions/workflow/json.ts';
import { hintAt } from '../../../functions/workflow/request/issues.ts';
import { ENDPOINTS, type Endpoint } from '../exchange.ts';

/** The effects of a fault on a request. infra/COMMANDS.md (The sandbox) explains each of them. */
export type FaultEffect = {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  retryAfter?: { seconds: number; as: 'seconds' | 'date' };
  body?: string;
  /** By dotted path: `{ 'error.status': 500 }`. */
  set?: Readonly<Record<string, unknown>>;
  /** Dotted paths. */
  omit?: readonly string[];
  processed?: boolean;
  revoke?: boolean;
  hang?: boolean;
  /** Milliseconds of real time, whatever the sandbox's clock says. */
  trickle?: number;
  reset?: 'before' | 'after';

  // Only on the storage host:
  resetAfter?: number;
  cutAfter?: number;
  stallAfter?: number;
  framing?: 'length' | 'chunked' | 'close';
  etag?: 'weak' | 'none';
  changed?: boolean;
  ignoreRange?: boolean;
  gzip?: 'right' | 'wrong';
  endless?: boolean;
};

/** A fault: the requests that it affects, and its effects on them. */
export type Fault = FaultEffect & {
  on: Endpoint | 'any';
  /** Only requests about the Nth report created, counted from 1. */
  report?: number;
  /** The first matching request that goes wrong, counted from 1. Default: 1. */
  nth?: number;
  /** The number of matching requests in a row that go wrong. Default: 1. Infinity: all. */
  times?: number;
};

/**
 * Reads one fault of the sandbox (`--fault`): a line that says which requests go wrong, then what happens to them.
 *
 *     report nth=2 times=3 status=500                     the 2nd, 3rd and 4th poll get 500
 *     token omit=expires_in times=always                  no token response has expires_in
 *     token set.expires_in="3600"                         one token response has a string instead of a number
 *     report status=429 retry_after=date:120              one poll gets 429, with Retry-After as a date in 2 minutes
 *     create reset=after                                  one report is created, but the response is lost
 *     report=1 set.status=PROCESSING omit=download_url times=always     the first report is never READY
 *     storage cut_after=1000 framing=close                one download ends after 1,000 bytes without an error
 *     any body="<html>Bad gateway</html>" status=502      one request, of any kind, gets an HTML page
 *
 * infra/COMMANDS.md (The sandbox) explains every word.
 *
 * @throws TypeError that names the word that cannot be read, or says that the line has no effect
 */
export function parseFault(text: string): Fault {
  const [first = '', ...others] = splitWords(text);
  const startsWithReport = first.includes('=');
  const fault: Fault = { on: startsWithReport ? 'any' : readEndpoint(first) };
  for (const word of startsWithReport ? [first, ...others] : others)
    Object.assign(fault, readWord(word, fault));
  if (Object.keys(fault).every((key) => TARGET_KEYS.has(key))) {
    throw new TypeError(
      `The fault "${text}" does not say what happens to the requests. Add an effect, for example: status=500`,
    );
  }
  return fault;
}

const TARGET_KEYS: ReadonlySet<string> = new Set<keyof Fault>(['on', 'report', 'nth', 'times']);

/** Splits at spaces, except inside double quotes and inside the braces of a JSON value. */
function splitWords(text: string): string[] {
  const found = text.trim().match(/(?:"(?:\\.|[^"\\])*"|\{[^{}]*\}|\S)+/g);
  if (!found) throw new TypeError('A fault is empty. Write for example: report nth=2 status=500');
  return found;
}

function readEndpoint(name: string): Endpoint | 'any' {
  const names = [...ENDPOINTS, 'any'] as const;
  const found = names.find((each) => each === name);
  if (found) return found;
  throw new TypeError(`A fault begins with an endpoint (${names.join(', ')}), not with "${name}".`);
}

const FLAGS: Readonly<Record<string, Partial<Fault>>> = {
  processed: { processed: true },
  revoke: { revoke: true },
  hang: { hang: true },
  changed: { changed: true },
  ignore_range: { ignoreRange: true },
  endless: { endless: true },
};

const VALUES: Readonly<Record<string, (value: string) => Partial<Fault>>> = {
  nth: (value) => ({ nth: ordinal(value) }),
  times: (value) => ({ times: value === 'always' ? Infinity : ordinal(value) }),
  report: (value) => ({ report: ordinal(value) }),
  status: (value) => ({ status: wholeNumber(value) }),
  retry_after: retryAfter,
  body: (value) => ({ body: value }),
  trickle: (value) => ({ trickle: wholeNumber(value) }),
  reset: (value) => ({ reset: choice(value, ['before', 'after']) }),
  reset_after: (value) => ({ resetAfter: wholeNumber(value) }),
  cut_after: (value) => ({ cutAfter: wholeNumber(value) }),
  stall_after: (value) => ({ stallAfter: wholeNumber(value) }),
  framing: (value) => ({ framing: choice(value, ['length', 'chunked', 'close']) }),
  etag: (value) => ({ etag: choice(value, ['weak', 'none']) }),
  gzip: (value) => ({ gzip: choice(value, ['right', 'wrong']) }),
};

function readWord(word: string, { set, headers, omit = [] }: Fault): Partial<Fault> {
  const [, key = '', raw] = word.match(/^([^=]+)(?:=(.*))?$/s) ?? [];
  if (raw === undefined) return known(FLAGS[key], word);
  // A quoted JSON value stays a string: expires_in="3600" differs from expires_in=3600.
  if (key.startsWith('set.')) return { set: { ...set, [key.slice(4)]: jsonOrText(raw) } };
  const value = raw.startsWith('"') ? String(jsonOrText(escapeLineBreaks(raw))) : raw;
  if (key.startsWith('header.')) return { headers: { ...headers, [key.slice(7).toLowerCase()]: value } };
  if (key === 'omit') return { omit: [...omit, ...value.split(',')] };
  return known(VALUES[key], word)(value);
}

function known<Item>(item: Item | undefined, word: string): Item {
  if (item !== undefined) return item;
  const hint = hintAt(word.replace(/=.*$/s, ''), [...Object.keys({ ...FLAGS, ...VALUES }), 'omit']);
  throw new TypeError(`A fault cannot contain the word "${word}"${hint}.`);
}

function wholeNumber(value: string): number {
  if (!/^\d+$/.test(value)) throw new TypeError(`A fault needs a whole number, not "${value}".`);
  return Number(value);
}

/** @throws TypeError for 0, because a fault of the 0th request would never happen */
function ordinal(value: string): number {
  const number = wholeNumber(value);
  if (number === 0) throw new TypeError('A fault counts requests and reports from 1, not from "0".');
  return number;
}

function choice<Name extends string>(value: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === value);
  if (!found) throw new TypeError(`A fault needs one of ${names.join(', ')}, not "${value}".`);
  return found;
}

function retryAfter(value: string): Partial<Fault> {
  const [, date, seconds = ''] = value.match(/^(date:)?(.*)$/) ?? [];
  return { retryAfter: { seconds: wholeNumber(seconds), as: date === undefined ? 'seconds' : 'date' } };
}

/** A text of JSON has no line breaks and tabs of its own. */
function escapeLineBreaks(text: string): string {
  return text.replace(/[\n\r\t]/g, (character) => JSON.stringify(character).slice(1, -1));
}

function jsonOrText(value: string): unknown {
  const json = parseJson(value);
  return json === undefined ? value : json;
}
