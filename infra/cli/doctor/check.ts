/** What was looked at. */
export type Subject = 'secret' | 'token' | 'scopes' | 'revision' | 'advertisers' | 'bucket';

/** One line of the diagnosis. `unknown` is what cannot be told from here: no fault, and no promise either. */
export interface Check {
  readonly account?: string;
  readonly check: Subject;
  readonly status: 'ok' | 'fault' | 'unknown';
  /** Never a secret. */
  readonly found: string;
  /** Where something is to be done. */
  readonly todo?: string;
}

/** What the account's exports will ask for. */
export interface Needs {
  readonly revisions: readonly string[];
  readonly scopes: readonly string[];
  readonly advertiserIds: readonly string[];
  /** What a refresh request sends beside RFC 6749's parameters. */
  readonly refreshParameters: Readonly<Record<string, string>>;
}

export function ok(check: Subject, found: string): Check {
  return { check, status: 'ok', found };
}

export function fault(check: Subject, found: string, todo: string): Check {
  return { check, status: 'fault', found, todo };
}

export function unknown(check: Subject, found: string, todo?: string): Check {
  return { check, status: 'unknown', found, ...(todo !== undefined && { todo }) };
}

/** For a person: what was found in columns, and what to do under each line that asks for it. */
export function describeCheck({ account = '', check, status, found, todo }: Check): string {
  const line = `${status.padEnd(8)}${account ? `${account}  ` : ''}${check.padEnd(12)}${found}`;
  return todo === undefined ? line : `${line}\n        what to do: ${todo}`;
}
