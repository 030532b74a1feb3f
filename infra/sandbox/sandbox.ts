import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback } from '../local/loopback.ts';
import type { Call } from './exchange.ts';
import { servePlatform } from './platform.ts';
import type { ReportFile } from './reporting/report-file.ts';
import type { SandboxOptions } from './settings.ts';
import { createState } from './state.ts';
import { serveStorage } from './storage/storage.ts';

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

/** Starts the platform and its storage host on 127.0.0.1, each on its own port. */
export async function startSandbox(options: SandboxOptions = {}) {
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
    /** With the base path, without a slash at the end. */
    baseUrl: platformUrl + (options.basePath ?? ''),
    storageUrl: state.storageUrl,
    /** The client of the first credential. */
    clientId: first.clientId,
    clientSecret: first.clientSecret,
    /** The newest published revision. */
    revision: [...state.revisions].sort().at(-1) ?? '',
    /** The advertisers of the first credential's account. */
    advertiserIds: (state.advertisers.get(first.account) ?? []).map(({ id }) => id),
    credentials: state.credentials,
    journal: state.journal as readonly Call[],
    faults: state.faults,
    /** Changes take effect with the next request, except for credentials, advertisers and revisions. */
    options,
    /** In order of creation. */
    reports: () => [...state.reports.values()],
    /** The file of a report. @throws RangeError if the id is unknown */
    expected(reportId: string): ReportFile {
      const file = state.reports.get(reportId)?.file;
      if (!file) throw new RangeError(`The sandbox has no report ${reportId}.`);
      return file;
    },
    /** Invalidates every access token. Refresh tokens stay valid. */
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
