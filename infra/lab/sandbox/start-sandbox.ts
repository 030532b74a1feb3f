import { startOnLoopback } from '../local/loopback.ts';
import type { Call } from './exchange.ts';
import { EXAMPLE_REVISION, type SandboxOptions } from './sandbox-options.ts';
import { servePlatform } from './serve-platform.ts';
import { serveStorage } from './serve-storage.ts';
import { createState } from './state.ts';

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

/** Starts the platform and its storage host on 127.0.0.1, each on its own port. */
export async function startSandbox(options: SandboxOptions = {}) {
  const state = createState(options);
  const [first] = state.credentials;
  if (!first) throw new RangeError('The sandbox needs a credential.');
  const { now } = state;
  await using servers = new AsyncDisposableStack();
  const storage = servers.use(await startOnLoopback((...call) => serveStorage(state, ...call), { now }));
  state.reports.storageUrl = options.storageUrl ?? storage.endpoint;
  const { port } = options;
  const platform = await startOnLoopback((...call) => servePlatform(state, ...call), { now, port });
  servers.use(platform);
  const started = servers.move();
  return {
    baseUrl: platform.endpoint,
    storageUrl: storage.endpoint,
    /** The client of the first credential. */
    clientId: first.clientId,
    clientSecret: first.clientSecret,
    revision: EXAMPLE_REVISION,
    advertiserIds: state.advertisers.map(({ id }) => id),
    credentials: state.credentials,
    journal: state.journal as readonly Call[],
    faults: state.faults,
    /** Changes take effect with the next request, except for credentials and advertisers. */
    options,
    /** In order of creation. */
    reports: () => state.reports.all(),
    /** Invalidates every access token. Refresh tokens stay valid. */
    revokeTokens: () => state.accessTokens.clear(),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
