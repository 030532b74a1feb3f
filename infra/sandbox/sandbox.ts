import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback } from '../local/loopback.ts';
import type { Call } from './exchange.ts';
import type { FaultList } from './faults/faults.ts';
import { servePlatform } from './platform.ts';
import type { ReportFile } from './reporting/report-file.ts';
import type { Credential, SandboxOptions } from './settings.ts';
import { createState, type Report } from './state.ts';
import { serveStorage } from './storage/storage.ts';

export type Sandbox = AsyncDisposable & {
  /** With the base path, without a slash at the end. */
  baseUrl: string;
  storageUrl: string;
  /** Of the first credential. */
  clientId: string;
  clientSecret: string;
  /** The newest published revision. */
  revision: string;
  /** The advertisers of the first credential's account. */
  advertiserIds: readonly string[];
  credentials: readonly Credential[];
  /** Every request to either server, in order of arrival. */
  journal: readonly Call[];
  faults: FaultList;
  /** Changes take effect with the next request, except for credentials, advertisers and revisions. */
  options: SandboxOptions;
  /** In order of creation. */
  reports(): readonly Report[];
  /** The file of a report. @throws RangeError if the id is unknown */
  expected(reportId: string): ReportFile;
  /** Invalidates every access token. Refresh tokens stay valid. */
  revokeTokens(): void;
  close(): Promise<void>;
};

/** Starts the platform and its storage host on 127.0.0.1, each on its own port. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const state = createState(options);
  const [first] = state.credentials;
  if (!first) throw new RangeError('The sandbox needs a credential.');
  await using servers = new AsyncDisposableStack();
  state.storageUrl = await listen(servers, 0, (...exchange) => serveStorage(state, ...exchange));
  const platformUrl = await listen(servers, options.port ?? 0, (...exchange) =>
    servePlatform(state, ...exchange),
  );
  const started = servers.move();
  const close = () => started.disposeAsync();
  return {
    baseUrl: platformUrl + (options.basePath ?? ''),
    storageUrl: state.storageUrl,
    clientId: first.clientId,
    clientSecret: first.clientSecret,
    revision: [...state.revisions].sort().at(-1) ?? '',
    advertiserIds: (state.advertisers.get(first.account) ?? []).map(({ id }) => id),
    credentials: state.credentials,
    journal: state.journal,
    faults: state.faults,
    options,
    reports: () => [...state.reports.values()],
    expected: (reportId) => {
      const file = state.reports.get(reportId)?.file;
      if (!file) throw new RangeError(`The sandbox has no report ${reportId}.`);
      return file;
    },
    revokeTokens: () => state.accessTokens.clear(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** @returns the server's URL */
async function listen(
  servers: AsyncDisposableStack,
  port: number,
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<string> {
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const { address, close } = await listenOnLoopback(server, port);
  servers.defer(close);
  return `http://${address}`;
}
