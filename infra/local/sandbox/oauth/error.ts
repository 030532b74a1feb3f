/** RFC 6749 5.2: the token endpoint's own error body (contract 7.3). */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly status: number;
  readonly error: string;

  constructor(error: string, description: string, status = 400) {
    super(description);
    this.error = error;
    this.status = status;
  }
}

/** @throws OAuthError invalid_scope when a scope is asked for that is not among those available */
export function requestedScopes(scope: string | null, available: readonly string[]): readonly string[] {
  const asked = [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))];
  const missing = asked.filter((name) => !available.includes(name));
  if (missing.length > 0) throw new OAuthError('invalid_scope', `Not available: ${missing.join(' ')}.`);
  return asked.length === 0 ? available : asked;
}
