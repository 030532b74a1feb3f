import type { Catalog } from '../aws/catalog.ts';
import { type RequestTarget, requestHash } from '../decisions/request-hash.ts';
import { count } from '../workflow/count.ts';
import { ExportError, InvalidInput, readMessage } from '../workflow/errors.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import { differenceOf, type TableSchema, tableOf } from '../workflow/table.ts';
import type { Judging } from './begin-run.ts';

export interface ConfigAccess extends RequestTarget {
  /** Has the hash of each configured request. Undefined if the stack has no tables. */
  readonly catalog: Catalog | undefined;
}

/** The table of a name, which has the configured request of each account. */
interface ConfiguredTable extends Pick<Judging, 'unread'> {
  readonly schema?: TableSchema | undefined;
  readonly warnings: readonly string[];
}

/**
 * Reads the table of a name, and compares the requests of accounts with the configured ones. A name is one
 * request: another request would replace the configured one's files. Without a table, there is nothing to
 * compare with.
 *
 * @param requests of one name
 * @throws InvalidInput with each account whose request differs
 */
export async function compareWithConfigured(
  requests: readonly ExportRequest[],
  dependencies: ConfigAccess,
): Promise<ConfiguredTable> {
  const [first] = requests;
  const { catalog } = dependencies;
  if (catalog === undefined || first === undefined || first.kind === 'purchases') return { warnings: [] };
  try {
    // Also for a request with `table: false`: its file would replace the configured request's.
    const schema = await catalog.getTable(first.name);
    const faults = schema
      ? requests.flatMap((request) => otherRequestFaults(request, schema, dependencies))
      : [];
    if (faults.length > 0)
      throw new InvalidInput(`The request has ${count(faults.length, 'fault')}, and nothing was exported.`, {
        faults,
      });
    return { schema, warnings: [] };
  } catch (error) {
    // A failure of Glue or Lake Formation concerns the table only. CurateReport reads it again.
    if (error instanceof InvalidInput || !(error instanceof ExportError)) throw error;
    const { happened } = readMessage(error.message);
    const reason = happened.replace(/\.$/, '');
    return { warnings: [`the request was not compared with the configured one: ${reason}`], unread: reason };
  }
}

function otherRequestFaults(request: ExportRequest, schema: TableSchema, target: RequestTarget): string[] {
  const { account, name } = request;
  const configured = schema.requests[account];
  if (configured === undefined || configured === requestHash(request, target)) return [];
  return [
    `name: account ${account} has another request under the name ${name} in the deployed config; it differs in ${differenceOf(request, schema)}. Give this one another name`,
  ];
}

/** The facts by which the days of a request are judged. */
export function judgingOf(
  request: ExportRequest,
  { schema, unread }: ConfiguredTable,
  target: RequestTarget,
): Judging {
  const hash = requestHash(request, target);
  return { request, hash, schema: tableOf(request) === undefined ? undefined : schema, unread };
}
