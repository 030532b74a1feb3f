import type { Readable } from 'node:stream';
import { closeServer } from '../loopback.ts';
import type { Call } from './exchange.ts';
import type { FaultControl } from './faults/faults.ts';
import { listen } from './listen.ts';
import { revokeAccessTokens } from './oauth/tokens.ts';
import { servePlatform } from './platform.ts';
import type { Report } from './reporting/reports.ts';
import { fingerprint, streamOf } from './reporting/rows.ts';
import type { Credential, SandboxOptions } from './settings.ts';
import { serveStorage } from './storage/storage.ts';
import { type Advertiser, createWorld, type World } from './world.ts';

export type Sandbox = AsyncDisposable & {
  /** Without a slash at the end, with the base path. */
  baseUrl: string;
  storageUrl: string;
  /** Those of the first credential. */
  clientId: string;
  clientSecret: string;
  /** The newest published one. */
  revision: string;
  /** Those of the first credential's account. */
  advertiserIds: readonly string[];
  credentials: readonly Credential[];
  /** Every request as the servers saw it, in the order of arrival. */
  journal: readonly Call[];
  faults: FaultControl;
  /** As it was started; what is changed holds from the next request on, but for the credentials and the revisions. */
  options: SandboxOptions;
  /** The reports created so far, in order. */
  reports(): readonly Report[];
  /** What a report's file holds. @throws RangeError for an unknown id */
  expected(reportId: string): Expected;
  /** Adds an advertiser to an account (that of the first credential), created now. */
  addAdvertiser(id: string, account?: string): void;
  /** Ends every access token at once. */
  revokeTokens(): void;
  close(): Promise<void>;
};

export type Expected = {
  rows: number;
  length: number;
  etag: string;
  /** In hex. Reads the whole file. */
  sha256(): string;
  stream(): Readable;
};

/** Starts the platform and its storage host on 127.0.0.1, each on its own port. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const world = createWorld(options);
  const storage = await listen(options.storagePort ?? 0, (request, response) => {
    serveStorage(world, request, response).catch(() => response.destroy());
  });
  world.storageUrl = storage.url;
  const platform = await listen(options.port ?? 0, (request, response) => {
    servePlatform(world, request, response).catch(() => response.destroy());
  }).catch(async (error) => {
    await closeServer(storage.server);
    throw error;
  });
  const close = async () => {
    await Promise.all([closeServer(platform.server), closeServer(storage.server)]);
  };
  return {
    ...handles(world),
    baseUrl: platform.url + (options.basePath ?? ''),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function handles(world: World): Omit<Sandbox, 'baseUrl' | 'close' | typeof Symbol.asyncDispose> {
  const [first] = world.credentials;
  if (!first) throw new RangeError('The sandbox needs a credential.');
  return {
    storageUrl: world.storageUrl,
    clientId: first.clientId,
    clientSecret: first.clientSecret,
    revision: [...world.revisions].sort().at(-1) ?? '',
    advertiserIds: (world.advertisers.get(first.account) ?? []).map(({ id }) => id),
    credentials: world.credentials,
    journal: world.journal,
    faults: world.faults,
    options: world.options,
    reports: () => [...world.reports.values()],
    expected: (reportId) => expected(world, reportId),
    addAdvertiser: (id, account = first.account) => addAdvertiser(world, id, account),
    revokeTokens: () => revokeAccessTokens(world),
  };
}

function expected(world: World, reportId: string): Expected {
  const file = world.reports.get(reportId)?.file;
  if (!file) throw new RangeError(`The sandbox has no report ${reportId}.`);
  const { rows, length, etag } = file;
  return { rows, length, etag, sha256: () => fingerprint(file).sha256, stream: () => streamOf(file) };
}

function addAdvertiser(world: World, id: string, account: string): void {
  const advertisers: Advertiser[] = world.advertisers.get(account) ?? [];
  const name = `Advertiser ${advertisers.length + 1}`;
  advertisers.push({ id: id.toLowerCase(), name, created_at: new Date(world.now()).toISOString() });
  world.advertisers.set(account, advertisers);
}
