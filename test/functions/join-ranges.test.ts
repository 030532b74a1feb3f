import { describe, expect, it } from 'vitest';
import type { JoinRanges } from '../../functions/copy/open-ranges.ts';
import { joinRanges } from '../../functions/join-ranges.ts';
import type { CopyRange } from '../../functions/workflow/copying.ts';
import { CopyFailed, DownloadRefused, ServiceUnavailable } from '../../functions/workflow/errors.ts';
import type { DividedWindow } from '../../functions/workflow/states.ts';
import { keepLog, stoppedClock, windowOf } from '../support/steps.ts';

const KEY = 'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02/report.json';

const stored: CopyRange = {
  ...{ first: 1, from: 0, to: 200, part: 3, at: 200, status: 'stored' },
  ...{
    turn: '2026-11-21T06:00:00.000Z',
    wake: '2026-11-21T06:00:00.000Z',
    turn_every_seconds: 40,
    turns: 1,
    failures: 0,
  },
};
const missing: CopyRange = { ...stored, first: 3, from: 200, to: 400, part: 4, at: 300, status: 'broken' };

function divided(ranges: readonly CopyRange[], copying: object = {}): DividedWindow {
  const file = { etag: '"one"', bytes: 400, content_type: 'application/json' };
  return {
    ...windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']),
    status: 'divided',
    ready_id: 'r1',
    copying: {
      report_id: 'r1',
      upload_id: 'u1',
      file,
      calls: 1,
      ranges: [...ranges],
      ended: [...ranges],
      ...copying,
    },
  };
}

function dependencies(result: unknown = { bytes: 400, crc32: 'AAAAAA==', content_type: 'application/json' }) {
  const abandoned: string[][] = [];
  const join: JoinRanges = async () => {
    if (result instanceof Error) throw result;
    return result as Awaited<ReturnType<JoinRanges>>;
  };
  const abandon = async (...upload: string[]) => void abandoned.push(upload);
  return { abandoned, joinRanges: join, abandon, now: stoppedClock().now, ...keepLog() };
}

describe('JoinRanges', () => {
  it('makes the object of which all ranges are stored', async () => {
    const access = dependencies();
    const state = await joinRanges(divided([stored, { ...missing, at: 400, status: 'stored' }]), access);
    expect(state).toMatchObject({
      status: 'saved',
      object: { key: KEY, bytes: 400, copied_at: '2026-11-21T06:00:00.000Z' },
    });
    expect([state.copying, access.abandoned]).toEqual([undefined, []]);
  });

  it.each([
    ['TokenRefused'],
    ['CopyFailed'],
    ['PlatformUnavailable'],
    [undefined],
  ])('lets SaveReport go on with what is missing after %s', async (error) => {
    const access = dependencies();
    const broken = error === undefined ? missing : { ...missing, error };
    const state = await joinRanges(divided([stored, broken]), access);
    expect(state).toMatchObject({ status: 'ready', wait_seconds: 10, copying: { stored_before: 300 } });
    expect([state.copying?.ranges, access.abandoned]).toEqual([[stored, broken], []]);
  });

  it.each([
    ['nothing', []],
    ['null', [null]],
    ['an error', [{ Error: 'States.Runtime', Cause: 'x' }]],
  ])('lets SaveReport go on with a range whose execution left %s', async (_, left) => {
    const access = dependencies();
    const begun: CopyRange = { ...missing, status: 'open' };
    const ranges = [{ ...stored, status: 'open' as const, at: 0 }, begun];
    const state = await joinRanges(divided(ranges, { ended: [...left, stored] }), access);
    expect(state).toMatchObject({ status: 'ready', wait_seconds: 10 });
    expect(state.copying?.ranges).toEqual([stored, missing]);
    expect(access.abandoned).toEqual([]);
  });

  it('16: begins again as one after three rounds in which nothing came', async () => {
    const access = dependencies();
    const idle = { stored_before: 300, idle_rounds: 1 };
    expect((await joinRanges(divided([stored, missing], idle), access)).copying?.idle_rounds).toBe(2);
    const state = await joinRanges(divided([stored, missing], { ...idle, idle_rounds: 2 }), access);
    expect(state).toMatchObject({ status: 'ready', undivided: true });
    expect([state.copying, access.abandoned]).toEqual([undefined, [[KEY, 'u1']]]);
  });

  it.each([
    ['18: a range is void', { status: 'void' as const }],
    ['4: the platform refused a range', { error: 'RequestRefused' }],
    ['27: the bucket refused a range', { error: 'AccessRefused' }],
    ['21: the address was refused', { error: 'DownloadRefused' }],
  ])('gives the upload up and begins again as one where %s', async (_, broken) => {
    const access = dependencies();
    const state = await joinRanges(divided([stored, { ...missing, ...broken }]), access);
    expect(state).toMatchObject({ status: 'ready', undivided: true });
    expect([state.copying, access.abandoned]).toEqual([undefined, [[KEY, 'u1']]]);
  });

  it('19: has the report replaced whose fresh URL was refused', async () => {
    const access = dependencies();
    const state = divided([stored, { ...missing, error: 'UrlExpired' }]);
    await expect(joinRanges(state, access)).rejects.toMatchObject({ name: 'UrlExpired' });
  });

  it.each([
    ['parts that are not there', 'void'],
    ['26: a checksum that differs', new CopyFailed('S3 refused the file (BadDigest).')],
  ])('begins again as one after %s', async (_, result) => {
    const access = dependencies(result);
    expect(await joinRanges(divided([stored]), access)).toMatchObject({ status: 'ready', undivided: true });
    expect(access.abandoned).toEqual([[KEY, 'u1']]);
  });

  it('23: gives up the upload of what is no JSON', async () => {
    const access = dependencies(new DownloadRefused('The file is not JSON.'));
    await expect(joinRanges(divided([stored]), access)).rejects.toMatchObject({ name: 'DownloadRefused' });
    expect(access.abandoned).toEqual([[KEY, 'u1']]);
  });

  it('25: keeps the upload where S3 is only unavailable', async () => {
    const access = dependencies(new ServiceUnavailable('AWS could not write (SlowDown).'));
    await expect(joinRanges(divided([stored]), access)).rejects.toMatchObject({ name: 'ServiceUnavailable' });
    expect(access.abandoned).toEqual([]);
  });
});
