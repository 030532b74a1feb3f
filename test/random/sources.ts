import { gunzipSync } from 'node:zlib';
import type { Sandbox } from '../../infra/lab/sandbox/start-sandbox.ts';
import type { StoredFile } from './phase.ts';
import type { Scenario } from './scenario.ts';

export interface WindowKey {
  readonly start_date: string;
  readonly end_date: string;
}

/** An account in a scenario with its faults. */
interface FaultyAccount {
  readonly scenario: Scenario;
  readonly account: string;
}

/**
 * True if an object is byte for byte what the storage host served for its window: any version of the file of
 * any of the window's reports. A wrong Content-Encoding changes nothing.
 */
export function isServed(sandbox: Sandbox, run: FaultyAccount, window: WindowKey, file: StoredFile): boolean {
  const bytes = decoded(file) ?? file.bytes;
  if (isEmptied(run) && bytes.equals(Buffer.from('[]'))) return true;
  const reports = sandbox
    .reports()
    .filter(({ account, request }) => account === run.account && isOf(request, window));
  return reports.some(({ file, version }) => {
    const versions = Array.from({ length: version + 1 }, (_, number) => file.withVersion(number));
    return versions.some(
      (source) => source.length === bytes.length && Buffer.concat([...source.read()]).equals(bytes),
    );
  });
}

/** True if a fault may have replaced a file by one without rows. */
export function isEmptied({ scenario }: Pick<FaultyAccount, 'scenario'>): boolean {
  return scenario.platform.some((fault) => fault.includes('body="[]"'));
}

/** Undefined if the bytes do not match the Content-Encoding. */
export function decoded({ bytes, encoding }: StoredFile): Buffer | undefined {
  if (encoding === undefined) return bytes;
  try {
    return gunzipSync(bytes);
  } catch {
    return undefined;
  }
}

function isOf(request: WindowKey, { start_date, end_date }: WindowKey): boolean {
  return request.start_date === start_date && request.end_date === end_date;
}
