/** One line of the diagnosis. */
export interface Check {
  readonly account?: string;
  readonly check: 'secret' | 'token' | 'scopes' | 'revision' | 'advertisers' | 'bucket';
  /** `unknown` means that it cannot be checked from here. */
  readonly status: 'ok' | 'fault' | 'unknown';
  /** Never contains a secret. */
  readonly found: string;
  readonly todo?: string;
}

/** The needs of an account's exports. */
export interface Needs {
  readonly revisions: readonly string[];
  readonly scopes: readonly string[];
  readonly advertiserIds: readonly string[];
  /** Additional parameters of a refresh request. */
  readonly refreshParameters: Readonly<Record<string, string>>;
}

export function ok(check: Check['check'], found: string): Check {
  return { check, status: 'ok', found };
}

export function fault(check: Check['check'], found: string, todo: string): Check {
  return { check, status: 'fault', found, todo };
}

export function unknown(check: Check['check'], found: string, todo?: string): Check {
  return { check, status: 'unknown', found, ...(todo !== undefined && { todo }) };
}
