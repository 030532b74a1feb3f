import { InvalidInput } from '../functions/workflow/errors.ts';
import { parseRequest } from '../functions/workflow/request/request.ts';
import { requestOf } from './tables.ts';

// These checks look at the raw config, so that a fault elsewhere hides none of theirs.

type Fields = Readonly<Record<string, unknown>>;

/** Faults of the exports. Each must be a request that an execution would accept. */
export function exportFaults(context: unknown): string[] {
  const { exports, accounts } = fieldsOf(context);
  if (!Array.isArray(exports)) return [];
  const names = exports.map((entry) => `${fieldsOf(entry).account}/${fieldsOf(entry).name}`);
  return exports.flatMap((entry, at) => {
    const { schedule } = fieldsOf(entry);
    const request = requestOf(fieldsOf(entry));
    const faults = [
      ...requestFaults(request),
      ...accountFault('account', request.account, accounts),
      ...(schedule === undefined ? [] : scheduleFaults(request)),
      ...(names.indexOf(names[at] ?? '') < at
        ? [`name: the account has another export ${request.name}`]
        : []),
    ];
    return faults.map((fault) =>
      /^[\w.[\]]+: /.test(fault) ? `exports[${at}].${fault}` : `exports[${at}]: ${fault}`,
    );
  });
}

/** Faults of a list of account names, or of an object by account. */
export function accountFaults(context: unknown, field: string): string[] {
  const { [field]: named, accounts } = fieldsOf(context);
  if (Array.isArray(named))
    return named.flatMap((name, at) => accountFault(`${field}[${at}]`, name, accounts));
  return Object.keys(fieldsOf(named)).flatMap((name) => accountFault(field, name, accounts));
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

function scheduleFaults({ period, only_missing }: Fields): string[] {
  return [
    ...(period === undefined
      ? ['period: is missing; a schedule with fixed dates would export the same days every time']
      : []),
    ...(only_missing
      ? [
          'only_missing: cannot be combined with a schedule, which would deliver nothing once everything is delivered',
        ]
      : []),
  ];
}

function accountFault(path: string, name: unknown, accounts: unknown): string[] {
  if (typeof name !== 'string' || !Array.isArray(accounts) || accounts.includes(name)) return [];
  return [`${path}: ${name} is not one of accounts (${accounts.join(', ')})`];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
