/** What stands for a request_id, a type or an OAuth error code that the answer does not have. */
export const ABSENT = 'absent';

interface PlatformErrorFields {
  readonly status: number;
  readonly type: string;
  readonly requestId: string;
  /** `error.message` of the envelope. */
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
  readonly validation?: readonly string[];
  readonly docUrl?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** The platform answered, and not with the success that the contract names (contract 7.1, 7.2). */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  /** Of HTTP, not of the envelope: they may differ, and only this one is always there. */
  readonly status: number;
  readonly type: string;
  /** "absent" if the answer names none. */
  readonly requestId: string;
  readonly reason: string | undefined;
  readonly detail: string | undefined;
  /** One sentence per failure of validation; empty unless the platform lists them. */
  readonly validation: readonly string[];
  readonly docUrl: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  /** @param call what was asked, as `POST https://host/reports` */
  constructor(call: string, fields: PlatformErrorFields) {
    const reason = fields.reason ? `: ${fields.reason}` : '';
    super(`${call} was answered ${fields.status} ${fields.type}${reason} (request_id ${fields.requestId})`);
    this.status = fields.status;
    this.type = fields.type;
    this.requestId = fields.requestId;
    this.reason = fields.reason;
    this.detail = fields.detail;
    this.validation = fields.validation ?? [];
    this.docUrl = fields.docUrl;
    this.retryAfterSeconds = fields.retryAfterSeconds;
  }
}

interface OAuthErrorFields {
  readonly status: number;
  readonly error: string;
  readonly errorDescription?: string | undefined;
  readonly requestId: string;
}

/** The token endpoint refused the credential or the grant: 4xx (contract 7.3). */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly status: number;
  /** For example `invalid_client`; "absent" if the body has none. */
  readonly error: string;
  readonly errorDescription: string | undefined;
  readonly requestId: string;

  constructor(call: string, fields: OAuthErrorFields) {
    const description = fields.errorDescription ? `: ${fields.errorDescription}` : '';
    super(`${call} was answered ${fields.status} ${fields.error}${description}`);
    this.status = fields.status;
    this.error = fields.error;
    this.errorDescription = fields.errorDescription;
    this.requestId = fields.requestId;
  }
}

/** The connection failed or a time-out ended it: there is no whole answer. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  /** Whether the platform may have got the request: false only where no byte of it was written. */
  readonly sent: boolean;
  /** Of the system or of undici (`ECONNREFUSED`, `UND_ERR_HEADERS_TIMEOUT`), or `TOTAL_TIMEOUT`. */
  readonly code: string;

  constructor(call: string, sent: boolean, code: string) {
    super(`${call} ${sent ? 'was sent and got no answer' : 'could not be sent'}: ${code}`);
    this.sent = sent;
    this.code = code;
  }
}

/** A 2xx answer that is not what the contract promises. What it asked for may have been done. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
  readonly status: number;
  readonly requestId: string;
  /** What is wrong with it, without quoting it. */
  readonly reason: string;

  constructor(call: string, fields: { status: number; requestId: string; reason: string }) {
    super(`${call} was answered ${fields.status} with ${fields.reason} (request_id ${fields.requestId})`);
    this.status = fields.status;
    this.requestId = fields.requestId;
    this.reason = fields.reason;
  }
}
