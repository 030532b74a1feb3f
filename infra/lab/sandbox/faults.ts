import * as z from 'zod';
import { isObject, parseJson } from '../../../functions/workflow/json.ts';
import { nameFaults, wordIssue } from '../../../functions/workflow/request/issues.ts';
import { type Answer, ENDPOINTS, type Endpoint, refusal } from './exchange.ts';

const textLike = (form: RegExp, fault: string) => z.string().regex(form, fault);
const optionalNumber = textLike(/^\d+$/, 'must be a whole number').transform(Number).exactOptional();
const ordinal = textLike(/^[1-9]\d*$/, 'must be a whole number from 1').transform(Number);
const flag = z.literal(true, 'takes no value').exactOptional();
const oneOf = <Name extends string>(...names: Name[]) =>
  z.enum(names, `must be one of ${names.join(', ')}`).exactOptional();

/** The requests that a fault affects, and its effects on them. infra/COMMANDS.md explains them. */
const Words = z.strictObject({
  on: z.enum([...ENDPOINTS, 'any'], `the first word must be one of ${ENDPOINTS.join(', ')}, any`),
  /** Only requests about the Nth report created, counted from 1. */
  report: ordinal.exactOptional(),
  /** The first matching request that goes wrong, counted from 1. Default: 1. */
  nth: ordinal.exactOptional(),
  /** The number of matching requests in a row that go wrong. Default: 1. */
  times: z
    .union(
      [z.literal('always').transform(() => Infinity), ordinal],
      'must be a whole number from 1, or always',
    )
    .exactOptional(),

  status: optionalNumber,
  retry_after: textLike(/^(date:)?\d+$/, 'must be seconds, or date: and seconds').exactOptional(),
  header: z.record(z.string().toLowerCase(), z.string()).exactOptional(),
  body: z.string().exactOptional(),
  /** By dotted path, such as `error.status`. */
  set: z.record(z.string(), z.unknown()).exactOptional(),
  /** Dotted paths. */
  omit: z.array(z.string()).exactOptional(),
  processed: flag,
  revoke: flag,
  hang: flag,
  /** Milliseconds of real time, whatever the sandbox's clock says. */
  trickle: optionalNumber,
  reset: oneOf('before', 'after'),

  // Only of lists:
  /** The most items of a page. */
  page: ordinal.exactOptional(),
  /** The status that refuses a page without items. */
  beyond: optionalNumber,

  // Only on the storage host:
  reset_after: optionalNumber,
  cut_after: optionalNumber,
  stall_after: optionalNumber,
  framing: oneOf('length', 'chunked', 'close'),
  etag: oneOf('weak', 'none'),
  changed: flag,
  ignore_range: flag,
  gzip: oneOf('right', 'wrong'),
  endless: flag,
});

const TARGET = ['on', 'report', 'nth', 'times'];

export type Fault = z.infer<typeof Words>;
export type FaultEffect = Partial<Fault>;

/**
 * Reads one fault of the sandbox (`--fault`): a line with the requests and what happens to them.
 *
 *     report nth=2 times=3 status=500                     the 2nd, 3rd and 4th poll get 500
 *     token set.expires_in="3600"                         one token response has a string instead of a number
 *     report=1 set.status=PROCESSING omit=download_url times=always     the first report is never READY
 *
 * infra/COMMANDS.md (The sandbox) explains every word.
 *
 * @throws TypeError that names each word that cannot be read, or says that the line has no effect
 */
export function parseFault(text: string): Fault {
  // Splits at spaces, except inside double quotes and inside the braces of a JSON value.
  const [first = '', ...others] = text.trim().match(/(?:"(?:\\.|[^"\\])*"|\{[^{}]*\}|\S)+/g) ?? [];
  const words = first.includes('=') ? ['any', first, ...others] : [first, ...others];
  const { data, error } = Words.safeParse(readWords(words), { error: wordIssue });
  const faults = error?.issues.flatMap((issue) =>
    nameFaults(issue, 'it', 'is no word of a fault', Object.keys(Words.shape)),
  );
  if (!data) throw new TypeError(`The fault "${text}" cannot be read. ${faults?.join('; ')}`);
  if (Object.keys(data).some((word) => !TARGET.includes(word))) return data;
  throw new TypeError(
    `The fault "${text}" does not say what happens to the requests. Add an effect, for example: status=500`,
  );
}

/** @param words the first one names the endpoint */
function readWords([on, ...words]: readonly string[]): object {
  const fault: Record<string, unknown> = { on };
  for (const word of words) {
    const [, key = '', raw] = /^([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const [, kind = key, path] = /^(set|header)\.(.+)$/.exec(key) ?? [];
    const text = unquote(raw);
    if (path === undefined) fault[kind] = (kind === 'omit' ? text?.split(',') : text) ?? true;
    else fault[kind] = { ...Object(fault[kind]), [path]: kind === 'set' && raw ? jsonOrText(raw) : text };
  }
  return fault;
}

/** A quoted JSON value stays a string: expires_in="3600" differs from expires_in=3600. */
function unquote(raw: string | undefined): string | undefined {
  return raw?.startsWith('"') ? String(jsonOrText(raw)) : raw;
}

function jsonOrText(value: string): unknown {
  const json = parseJson(value);
  return json === undefined ? value : json;
}

export function createFaultList(initial: readonly (string | Fault)[]) {
  const entries: { fault: Fault; matched: number }[] = [];
  const add = (fault: string | Fault): void => {
    entries.push({ fault: typeof fault === 'string' ? parseFault(fault) : fault, matched: 0 });
  };
  initial.forEach(add);
  return {
    /** Adds a fault, as an object or as a line for {@link parseFault}. It counts requests from now on. */
    add,
    clear: () => void entries.splice(0),
    /**
     * Counts a request and returns the effects of its faults. Later faults override earlier ones.
     *
     * @param ordinal the number of the report that the request is about
     */
    take(endpoint: Endpoint, ordinal: number | undefined): FaultEffect {
      const matching = entries.filter(
        ({ fault: { on, report = ordinal } }) => (on === 'any' || on === endpoint) && report === ordinal,
      );
      for (const entry of matching) entry.matched += 1;
      const applying = matching.filter(
        ({ fault: { nth = 1, times = 1 }, matched }) => matched >= nth && matched < nth + times,
      );
      return Object.assign({}, ...applying.map(({ fault }) => fault));
    },
  };
}

/**
 * Changes the status, headers and body of an answer as the fault says.
 *
 * @param now for Retry-After as a date
 */
export function applyFault(answer: Answer, fault: FaultEffect, now: number): Answer {
  const listed = limitPage(answer, fault);
  const { status = listed.status, body, retry_after = '' } = fault;
  const changed = body === undefined ? editJson(listed, fault) : replaceBody(listed, body);
  const [, seconds] = /^date:(\d+)$/.exec(retry_after) ?? [];
  const retry = seconds ? new Date(now + Number(seconds) * 1000).toUTCString() : retry_after;
  const headers = { ...changed.headers, ...(retry && { 'retry-after': retry }), ...fault.header };
  return { ...changed, status, headers };
}

function limitPage(answer: Answer, { page, beyond }: FaultEffect): Answer {
  const { data } = Object(answer.json) as { data?: unknown };
  if (!Array.isArray(data)) return answer;
  if (beyond !== undefined && data.length === 0)
    return refusal(beyond, 'The offset is behind the end of the list.').answer;
  return { ...answer, json: { ...Object(answer.json), data: data.slice(0, page) } };
}

function replaceBody({ status, headers }: Answer, text: string): Answer {
  const type = text.startsWith('<') ? 'text/html' : (headers['content-type'] ?? 'application/json');
  return { status, headers: { ...headers, 'content-type': type }, text };
}

function editJson(answer: Answer, { set = {}, omit = [] }: FaultEffect): Answer {
  if (answer.json === undefined) return answer;
  const json = structuredClone(answer.json);
  for (const path of omit) edit(json, path, (parent, key) => Reflect.deleteProperty(parent, key));
  for (const [path, value] of Object.entries(set))
    edit(json, path, (parent, key) => Reflect.set(parent, key, value));
  return { ...answer, json };
}

/** Calls `change` with the object that holds the last key of a dotted path, if there is one. */
function edit(root: unknown, path: string, change: (parent: object, key: string) => void): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const parent = keys.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), root);
  if (isObject(parent)) change(parent, last);
}
