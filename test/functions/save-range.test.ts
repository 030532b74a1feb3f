import { describe, expect, it } from 'vitest';
import { checkReport } from '../../functions/check-report.ts';
import type { CopyOneRange } from '../../functions/copy/open-ranges.ts';
import { createReport } from '../../functions/create-report.ts';
import { MAX_TURNS, saveRange } from '../../functions/save-range.ts';
import type { CopyRange } from '../../functions/workflow/copying.ts';
import { AccessRefused, CopyFailed, UrlExpired } from '../../functions/workflow/errors.ts';
import { RangeWindow, ReadyWindow } from '../../functions/workflow/states.ts';
import { turnAfter } from '../../functions/workflow/turns.ts';
import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';
import { startStep } from '../support/steps.ts';

/** The second of two ranges of a READY report's file, at the beginning of its turn. */
async function startRange(options: SandboxOptions = {}, copies: readonly unknown[] = []) {
  const started = await startStep({ report: { secondsToReady: 30 }, ...options });
  const { access, clock } = started;
  const created = await createReport(started.window, access);
  clock.pass(40);
  const ready = ReadyWindow.parse(await checkReport(created, access));
  clock.pass(10);
  const range: CopyRange = {
    ...{ first: 3, from: 200, to: 400, part: 3, at: 200, status: 'open' },
    ...turnAfter({ turn: clock.now().toISOString(), turn_every_seconds: 40 }, new Date(0)),
    ...{ turn_every_seconds: 40, turns: 0, failures: 0 },
  };
  const copying = {
    ...{ upload_id: 'u1', report_id: ready.ready_id, calls: 1 },
    file: { etag: '"one"', bytes: 400, content_type: 'application/json' },
  };
  const state = RangeWindow.parse({ ...ready, copying, range });
  const asked: Parameters<CopyOneRange>[0][] = [];
  const copyRange: CopyOneRange = async (request) => {
    asked.push(request);
    const result = copies[asked.length - 1] ?? { part: 5, at: 400, shape: 'seen' };
    if (result instanceof Error) throw result;
    return result as Awaited<ReturnType<CopyOneRange>>;
  };
  const dependencies = { ...access, copyRange, millisecondsLeft: () => 900_000 };
  const gets = () => started.sandbox.journal.filter(({ endpoint }) => endpoint === 'report').length - 1;
  return { ...started, state, range, asked, dependencies, gets };
}

const secondsLater = (moment: Date, seconds: number) =>
  new Date(moment.getTime() + 1000 * seconds).toISOString();

describe('SaveRange', () => {
  it('fetches the URL itself, copies its bytes, and lets the URL go no further', async () => {
    const { state, dependencies, asked, sandbox, lines } = await startRange();
    const saved = await saveRange(state, dependencies);
    expect(saved).toMatchObject({ status: 'stored', part: 5, at: 400, shape: 'seen', turns: 1, failures: 0 });
    expect(asked).toMatchObject([{ key: expect.stringMatching(/report\.json$/), format: 'JSON' }]);
    expect(asked[0]?.url).toContain(sandbox.storageUrl);
    expect(JSON.stringify([saved, lines])).not.toMatch(/sbx_sig|https?:\/\//);
  });

  it('P3: asks nothing before its turn, and wakes later in it where its clock is behind', async () => {
    const { state, dependencies, clock, gets } = await startRange();
    const [turn, wake] = [1, 3].map((seconds) => secondsLater(clock.now(), seconds));
    const range = { ...state.range, turn, wake: turn } as CopyRange;
    const early = await saveRange({ ...state, range }, dependencies);
    expect(early).toEqual({ ...range, wake, turns: 0 });
    expect(gets()).toBe(0);
    clock.pass(2);
    expect(await saveRange({ ...state, range: early }, dependencies)).toMatchObject({
      ...{ status: 'stored', turns: 1 },
      ...turnAfter(range, clock.now()),
    });
    expect(gets()).toBe(1);
  });

  it('P3: lets a turn go by, and counts it, where its clock is further behind', async () => {
    const { state, dependencies, clock, gets } = await startRange();
    let { range } = state;
    range = { ...range, ...turnAfter(range, clock.now()) };
    const first = Date.parse(range.turn);
    for (let turn = 1; turn <= 2; turn++) {
      for (const _ of ['as its turn begins', 'later in it'])
        range = await saveRange({ ...state, range }, dependencies);
      const next = new Date(first + turn * 40_000).toISOString();
      expect(range).toMatchObject({ status: 'open', turns: turn, missed: turn, turn: next, wake: next });
    }
    expect(gets()).toBe(0);
  });

  it('P3: asks nothing after its turn, and waits for the next', async () => {
    const { state, range, dependencies, clock, gets } = await startRange();
    clock.pass(5);
    const turn = turnAfter(range, clock.now());
    expect(await saveRange(state, dependencies)).toEqual({ ...range, ...turn, turns: 1, missed: 1 });
    expect(gets()).toBe(0);
  });

  it('P3: asks nothing where its turn went by while it read the token', async () => {
    const { state, dependencies, clock, gets } = await startRange();
    const readToken: typeof dependencies.readToken = (...token) => {
      clock.pass(5);
      return dependencies.readToken(...token);
    };
    expect(await saveRange(state, { ...dependencies, readToken })).toMatchObject({ status: 'open', at: 200 });
    expect(gets()).toBe(0);
  });

  it.each([
    ['ahead', 600],
    ['behind', -600],
  ])('35: breaks with the fifth turn in a row that it missed, by a clock that is %s of the one that wakes it', async (_, seconds) => {
    const { state, dependencies, gets } = await startRange();
    let { range } = state;
    const now = () => new Date(Date.parse(range.wake) + 1000 * seconds);
    const turns = new Set<string>();
    for (let call = 0; range.status === 'open' && call < 100; call++) {
      turns.add(range.turn);
      range = await saveRange({ ...state, range }, { ...dependencies, now });
    }
    expect([range.status, turns.size, gets()]).toEqual(['broken', 5, 0]);
  });

  it('counts the turns that it missed from the last one that it took', async () => {
    const { state, dependencies, clock } = await startRange({}, [{ part: 4, at: 300 }]);
    const range = await saveRange({ ...state, range: { ...state.range, missed: 4 } }, dependencies);
    clock.pass(45);
    expect(await saveRange({ ...state, range }, dependencies)).toMatchObject({ status: 'open', missed: 1 });
  });

  it('goes on in its next turn where the time of a call was too short', async () => {
    const { state, range, dependencies } = await startRange({}, [{ part: 4, at: 300 }]);
    const turn = turnAfter(range, dependencies.now());
    expect(await saveRange(state, dependencies)).toMatchObject({ status: 'open', part: 4, at: 300, ...turn });
  });

  it('18: is void where the file is another one', async () => {
    const { state, dependencies } = await startRange({}, ['void']);
    expect(await saveRange(state, dependencies)).toMatchObject({ status: 'void', at: 200 });
  });

  it('19: takes a fresh URL in its next turn, and breaks where that is refused too', async () => {
    const refused = new UrlExpired('The storage host answered 403.');
    const { state, dependencies, clock } = await startRange({}, [refused, refused]);
    const range = await saveRange(state, dependencies);
    expect(range).toMatchObject({ status: 'open', failures: 1, error: 'UrlExpired' });
    clock.pass(40);
    expect(await saveRange({ ...state, range }, dependencies)).toMatchObject({
      status: 'broken',
      error: 'UrlExpired',
    });
  });

  it('16: breaks off with the third failure in a row, and counts from the last part that came', async () => {
    const broken = new CopyFailed('The download broke off too often.');
    const copies = [broken, broken, { part: 4, at: 300 }, broken, broken, broken];
    const { state, dependencies, clock } = await startRange({}, copies);
    let { range } = state;
    const seen: string[] = [];
    for (const _ of copies) {
      range = await saveRange({ ...state, range }, dependencies);
      seen.push(`${range.status} ${range.failures}`);
      clock.pass(40);
    }
    expect(seen).toEqual(['open 1', 'open 2', 'open 0', 'open 1', 'open 2', 'broken 3']);
  });

  it.each([
    ['1: a refused token', ['report nth=2 status=401'], 'TokenRefused'],
    ['4: a refused request', ['report nth=2 status=403'], 'RequestRefused'],
  ])('%s breaks it at once, for SaveReport to meet', async (_, faults, error) => {
    const { state, dependencies } = await startRange({ faults });
    expect(await saveRange(state, dependencies)).toMatchObject({ status: 'broken', error });
  });

  it('27: a bucket that refuses breaks it at once', async () => {
    const { state, dependencies } = await startRange({}, [new AccessRefused('AWS refused to write.')]);
    expect(await saveRange(state, dependencies)).toMatchObject({ status: 'broken', error: 'AccessRefused' });
  });

  it.each([
    ['7: a platform that is not there', 'report nth=2 status=503', 40],
    ['8: one that asks to wait', 'report nth=2 status=429 retry_after=50', 80],
  ])('%s costs it a turn or two', async (_, fault, seconds) => {
    const { state, range, dependencies } = await startRange({ faults: [fault] });
    const turn = secondsLater(new Date(range.turn), seconds);
    expect(await saveRange(state, dependencies)).toMatchObject({ status: 'open', failures: 1, turn });
  });

  it('breaks where the report is READY no more', async () => {
    const fault = 'report nth=2 set.status=PROCESSING omit=download_url';
    const { state, dependencies, asked } = await startRange({ faults: [fault] });
    expect(await saveRange(state, dependencies)).toMatchObject({ status: 'broken' });
    expect(asked).toEqual([]);
  });

  it('takes no more turns than are in a window’s time', async () => {
    const { state, dependencies, gets } = await startRange();
    const range = { ...state.range, turns: MAX_TURNS };
    expect(await saveRange({ ...state, range }, dependencies)).toMatchObject({ status: 'broken' });
    expect(gets()).toBe(0);
  });

  it('lets a fault of its own be seen as one', async () => {
    const { state, dependencies } = await startRange({}, [new TypeError('ours')]);
    await expect(saveRange(state, dependencies)).rejects.toThrow(TypeError);
  });
});
