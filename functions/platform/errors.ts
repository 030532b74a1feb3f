/** Stands for a request_id, a type or an OAuth error code that the answer does not have. */
export const ABSENT = 'absent';

interface PlatformErrorFields {
  readonly status: number;
  readonly type: string;
  readonly requestId: string;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
  readonly validation?: readonly string[];
  readonly retryAfterSeconds?: number | undefined;
}

/** The platform answered with another status than 2xx (contract 7.1, 7.2). */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  /** The HTTP status; the envelope's may differ or be absent. */
  readonly status: number;
  readonly type: string;
  readonly requestId: string;
  /** `error.message` of the envelope. */
  readonly reason: string | undefined;
  readonly detail: string | undefined;
  /** One sentence per validation failure. */
  readonly validation: readonly string[];
  readonly retryAfterSeconds: number | undefined;

  /** @param call the request, as `POST https://host/reports` */
  constructor(call: string, fields: PlatformErrorFields) {
    const reason = fields.reason ? `: ${fields.reason}` : '';
    super(`${call} was answered ${fields.status} ${fields.type}${reason} (request_id ${fields.requestId})`);
    this.status = fields.status;
    this.type = fields.type;
    this.requestId = fields.requestId;
    this.reason = fields.reason;
    this.detail = fields.detail;
    this.validation = fields.validation ?? [];
    this.retryAfterSeconds = fields.retryAfterSeconds;
  }
}

/** The token endpoint refused the credential or the grant: 4xx (contract 7.3). */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly status: number;
  /** For example `invalid_client`. */
  readonly error: string;
  readonly requestId: string;

  constructor(call: string, fields: { status: number; error: string; requestId: string }) {
    super(`${call} was answered ${fields.status} ${fields.error}`);
    this.status = fields.status;
    this.error = fields.error;
    this.requestId = fields.requestId;
  }
}

/** The connection failed, or a timeout ended it. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  /** False only if no byte of the request was written. Otherwise the platform may have received it. */
  readonly sent: boolean;
  /** From the system or undici (`ECONNREFUSED`, `UND_ERR_HEADERS_TIMEOUT`), or `TOTAL_TIMEOUT`. */
  readonly code: string;
  /** The platform's, if the call names a whole URL. */
  readonly host: string | undefined;

  constructor(call: string, sent: boolean, code: string) {
    super(`${call} ${sent ? 'was sent and got no answer' : 'could not be sent'}: ${code}`);
    this.sent = sent;
    this.code = code;
    this.host = /:\/\/([^/]+)/.exec(call)?.[1];
  }
}

/** A 2xx answer that breaks the contract. The request may have had its effect. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
  readonly status: number;
  readonly requestId: string;
  /** The fault of the answer, without a quote. */
  readonly reason: string;

  constructor(call: string, fields: { status: number; requestId: string; reason: string }) {
    super(`${call} was answered ${fields.status} with ${fields.reason} (request_id ${fields.requestId})`);
    this.status = fields.status;
    this.requestId = fields.requestId;
    this.reason = fields.reason;
  }
}
