import { parseJson } from '../../../functions/workflow/json.ts';
import { hintAt } from '../../../functions/workflow/request/issues.ts';
import { ENDPOINTS, type Endpoint } from '../exchange.ts';

/** Reads the value of each effect. infra/COMMANDS.md explains them; `cutAfter` is `cut_after` there. */
const EFFECTS = {
  status: wholeNumber,
  retryAfter,
  body: String,
  processed: flag,
  revoke: flag,
  hang: flag,
  /** Milliseconds of real time, whatever the sandbox's clock says. */
  trickle: wholeNumber,
  reset: oneOf('before', 'after'),

  // Only on the storage host:
  resetAfter: wholeNumber,
  cutAfter: wholeNumber,
  stallAfter: wholeNumber,
  framing: oneOf('length', 'chunked', 'close'),
  etag: oneOf('weak', 'none'),
  changed: flag,
  ignoreRange: flag,
  gzip: oneOf('right', 'wrong'),
  endless: flag,
};

const TARGETS = {
  /** Only requests about the Nth report created, counted from 1. */
  report: ordinal,
  /** The first matching request that goes wrong, counted from 1. Default: 1. */
  nth: ordinal,
  /** The number of matching requests in a row that go wrong. Default: 1. Infinity: all. */
  times: (value: string) => (value === 'always' ? Infinity : ordinal(value)),
};

const WORDS: Readonly<Record<string, (value: string) => unknown>> = { ...EFFECTS, ...TARGETS };

type Values<Words extends Record<string, (value: string) => unknown>> = {
  [Word in keyof Words]?: ReturnType<Words[Word]>;
};

/** The effects of a fault on a request. */
export type FaultEffect = Values<typeof EFFECTS> & {
  headers?: Readonly<Record<string, string>>;
  /** By dotted path: `{ 'error.status': 500 }`. */
  set?: Readonly<Record<string, unknown>>;
  /** Dotted paths. */
  omit?: readonly string[];
};

/** A fault: the requests that it affects, and its effects on them. */
export type Fault = FaultEffect & Values<typeof TARGETS> & { on: Endpoint | 'any' };

/**
 * Reads one fault of the sandbox (`--fault`): a line with the requests and what happens to them.
 *
 *     report nth=2 times=3 status=500                     the 2nd, 3rd and 4th poll get 500
 *     token set.expires_in="3600"                         one token response has a string instead of a number
 *     report=1 set.status=PROCESSING omit=download_url times=always     the first report is never READY
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
  if (Object.keys(fault).every((key) => key === 'on' || key in TARGETS)) {
    throw new TypeError(
      `The fault "${text}" does not say what happens to the requests. Add an effect, for example: status=500`,
    );
  }
  return fault;
}

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

function readWord(word: string, { set, headers, omit = [] }: Fault): Partial<Fault> {
  const [, key = '', raw] = word.match(/^([^=]+)(?:=(.*))?$/s) ?? [];
  // A quoted JSON value stays a string: expires_in="3600" differs from expires_in=3600.
  if (key.startsWith('set.') && raw) return { set: { ...set, [key.slice(4)]: jsonOrText(raw) } };
  const value = raw?.startsWith('"') ? String(jsonOrText(raw)) : raw;
  if (key.startsWith('header.') && value)
    return { headers: { ...headers, [key.slice(7).toLowerCase()]: value } };
  if (key === 'omit' && value) return { omit: [...omit, ...value.split(',')] };
  const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const read = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined;
  if (read && (read === flag) === (value === undefined)) return { [name]: read(value ?? '') };
  const known = Object.keys(WORDS).map((each) =>
    each.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`),
  );
  throw new TypeError(`A fault cannot contain the word "${word}"${hintAt(key, [...known, 'omit'])}.`);
}

function flag(): true {
  return true;
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

function oneOf<Name extends string>(...names: readonly Name[]): (value: string) => Name {
  return (value) => {
    const found = names.find((name) => name === value);
    if (!found) throw new TypeError(`A fault needs one of ${names.join(', ')}, not "${value}".`);
    return found;
  };
}

function retryAfter(value: string): { seconds: number; as: 'seconds' | 'date' } {
  const [, date, seconds = ''] = value.match(/^(date:)?(.*)$/) ?? [];
  return { seconds: wholeNumber(seconds), as: date === undefined ? 'seconds' : 'date' };
}

function jsonOrText(value: string): unknown {
  const json = parseJson(value);
  return json === undefined ? value : json;
}
