import { registerHooks } from 'node:module';

/**
 * Loaded before Lambda's runtime client. Replaces its native part, the HTTP client in rapid-client.node,
 * which an install script would have to compile.
 *
 * The native `done` and `error` block until the Runtime API has answered. Here `next` waits for them, which
 * is all that the runtime client can tell.
 */
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === './rapid-client.node' ? import.meta.filename : specifier, context),
});

const INVOCATIONS = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;

let posted: Promise<unknown> = Promise.resolve();

function post(id: string, result: string, body: string): void {
  posted = fetch(`${INVOCATIONS}/${id}/${result}`, { method: 'POST', body });
}

export async function next(): Promise<{ bodyJson: string; headers: Record<string, string> }> {
  await posted;
  const response = await fetch(`${INVOCATIONS}/next`);
  return { bodyJson: await response.text(), headers: Object.fromEntries(response.headers) };
}

export function done(id: string, body: string): void {
  post(id, 'response', body);
}

export function error(id: string, body: string): void {
  post(id, 'error', body);
}
