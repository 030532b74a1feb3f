import { VOID } from './copy/copy-range.ts';
import { type CopyOneRange, openRanges } from './copy/open-ranges.ts';
import type { Position } from './copy/part-writer.ts';
import { type PlatformAccess, pollReport, RetryAfter } from './token/call-platform.ts';
import { createPlatformAccess } from './token/platform-access.ts';
import type { CopyRange } from './workflow/copying.ts';
import { type ErrorName, ExportError } from './workflow/errors.ts';
import { objectKey } from './workflow/keys.ts';
import { RangeWindow } from './workflow/states.ts';
import { type Common, step } from './workflow/step.ts';
import { isTurn, turnAfter, wakeLater } from './workflow/turns.ts';

/** As for SaveReport. */
const STOP_BEFORE_MS = 60_000;

/** The 12 h of a window hold 42 calls of 14 min, and 176 s until the next of eight ranges' turns after each. */
export const MAX_TURNS = 60;

/** A cold start or a slow secret may cost one. More in a row mean that its clock is not the one that wakes it. */
const MAX_MISSED = 5;

/** What another turn may cure, and how many in a row may meet it. A second URL that is refused wants another report. */
const CURABLE: Readonly<Partial<Record<string, number>>> = {
  UrlExpired: 2,
  CopyFailed: 3,
  ServiceUnavailable: 3,
  PlatformUnavailable: 3,
  AnswerUnreadable: 2,
  RateLimited: 3,
} satisfies Partial<Record<ErrorName, number>>;

interface Dependencies extends PlatformAccess, Pick<Common, 'millisecondsLeft'> {
  readonly copyRange: CopyOneRange;
}

/**
 * Copies one range of a file in its turn, with a URL that it fetches itself. It throws nothing that it can help: the
 * state machine would try it again too soon for its turns, and the other ranges are to come to their ends.
 *
 * @returns the range, with how far it came
 */
export async function saveRange(state: RangeWindow, dependencies: Dependencies): Promise<CopyRange> {
  const { range } = state;
  const now = dependencies.now();
  const turns = range.turns + 1;
  if (turns > MAX_TURNS) return { ...range, status: 'broken', error: 'CopyFailed' };
  // Its clock is behind that of the state machine, which would call it again at once. Only a turn that is lost counts.
  if (now < new Date(range.turn)) {
    const later = wakeLater(range);
    if (later.turn === range.turn) return { ...range, ...later };
    return missed({ ...range, turns }, new Date(range.turn));
  }
  return takeTurn({ ...state, range: { ...range, turns } }, dependencies);
}

async function takeTurn(state: RangeWindow, dependencies: Dependencies): Promise<CopyRange> {
  const { reports, ready_id, range } = state;
  const report = reports.find(({ id }) => id === ready_id);
  if (!report) throw new Error(`The state names no report ${ready_id}`);
  const { now, log } = dependencies;
  try {
    const answer = await pollReport(report, state, inTurn(range, dependencies));
    if (answer instanceof RetryAfter) return failed(range, 'RateLimited', secondsFrom(now(), answer.seconds));
    // SaveReport looks at the report again, and knows what to make of it.
    if (typeof answer === 'string') return { ...range, status: 'broken' };
    return moved(range, await copy(state, answer.url, dependencies), now());
  } catch (error) {
    if (error instanceof TurnMissed) return missed(range, now());
    if (!(error instanceof ExportError)) throw error;
    log.warn('a range broke off', { error: error.name, first_part: range.first, ...error.facts });
    return failed(range, error.name, now());
  }
}

/** Asked for the token, just before the GET, it is the last to know whether the turn is over. */
function inTurn(range: CopyRange, access: Dependencies): PlatformAccess {
  const readToken: PlatformAccess['readToken'] = async (...token) => {
    const authorization = await access.readToken(...token);
    if (!isTurn(range, access.now())) throw new TurnMissed();
    return authorization;
  };
  return { ...access, readToken };
}

class TurnMissed extends Error {
  override readonly name = 'TurnMissed';
}

function copy(
  { request, window, copying, range }: RangeWindow,
  url: string,
  { copyRange, millisecondsLeft }: Dependencies,
): Promise<Position | typeof VOID> {
  const deadline = AbortSignal.timeout(Math.max(0, millisecondsLeft() - STOP_BEFORE_MS));
  const { format } = request;
  return copyRange({ url, key: objectKey(request, window), format, copying, range, deadline });
}

/** Those of a clock that is wrong are all missed: JoinRanges then has the file begun again as one, which needs no turns. */
function missed(range: CopyRange, moment: Date): CopyRange {
  const count = (range.missed ?? 0) + 1;
  const turn = { ...range, missed: count, ...turnAfter(range, moment) };
  return count < MAX_MISSED ? turn : { ...turn, status: 'broken', error: 'CopyFailed' };
}

function moved(
  { error: _, missed: __, ...range }: CopyRange,
  to: Position | typeof VOID,
  now: Date,
): CopyRange {
  if (to === VOID) return { ...range, status: 'void' };
  const { part, at, shape } = to;
  const position = { part, at, ...(shape === undefined ? {} : { shape }) };
  const status = at === range.to ? 'stored' : 'open';
  return { ...range, ...position, status, failures: 0, ...turnAfter(range, now) };
}

function failed({ missed: _, ...range }: CopyRange, error: string, from: Date): CopyRange {
  const failures = range.failures + 1;
  const status = failures < (CURABLE[error] ?? 0) ? 'open' : 'broken';
  return { ...range, status, failures, error, ...turnAfter(range, from) };
}

function secondsFrom(now: Date, seconds: number): Date {
  return new Date(now.getTime() + 1000 * seconds);
}

export const handler = step(RangeWindow, saveRange, (settings) => ({
  ...createPlatformAccess(settings),
  ...openRanges(settings),
}));
