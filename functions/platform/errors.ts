/** The token endpoint refused the credential or the grant: 4xx (contract 7.3). */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly status: number;
  /** For example `invalid_client`. */
  readonly error: string;
  readonly requestId: string | undefined;

  constructor({ status, error, requestId }: Pick<OAuthError, 'status' | 'error' | 'requestId'>) {
    const id = requestId === undefined ? '' : `, request_id ${requestId}`;
    super(`The token endpoint answered ${status} (${error}${id}).`);
    this.status = status;
    this.error = error;
    this.requestId = requestId;
  }
}
