import { InvalidInput } from '../functions/workflow/errors.ts';
import { parseRequest } from '../functions/workflow/request/request.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What is wrong with the config's exports, each a request that must pass the same check as an execution's input. Looked
 * at on the raw config, so that a fault elsewhere does not hide one here.
 */
export function exportFaults(context: unknown): string[] {
  const { exports, accounts } = fieldsOf(context);
  if (!Array.isArray(exports)) return [];
  const names = exports.map((entry) => `${fieldsOf(entry).account}/${fieldsOf(entry).name}`);
  return exports.flatMap((entry, at) => {
    const { schedule, ...request } = fieldsOf(entry);
    const faults = [
      ...requestFaults(request),
      ...accountFaults(request, accounts),
      ...(schedule !== undefined && request.period === undefined
        ? ['period: is missing; a schedule with fixed dates would export the same days for ever']
        : []),
      ...(schedule !== undefined && request.only_missing
        ? ['only_missing: is not for a schedule; once all is there, nothing would be delivered any more']
        : []),
      ...(names.indexOf(names[at] ?? '') < at
        ? [`name: the account has another export ${request.name}`]
        : []),
    ];
    return faults.map((fault) =>
      /^[\w.[\]]+: /.test(fault) ? `exports[${at}].${fault}` : `exports[${at}]: ${fault}`,
    );
  });
}

function requestFaults(request: Fields): readonly string[] {
  try {
    parseRequest(request, new Date());
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.facts.faults as readonly string[];
    throw error;
  }
}

function accountFaults({ account }: Fields, accounts: unknown): string[] {
  if (typeof account !== 'string' || !Array.isArray(accounts) || accounts.includes(account)) return [];
  return [`account: ${account} is not one of accounts (${accounts.join(', ')})`];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
