/** Stands for the type or the OAuth error code that an answer does not have. */
export const UNNAMED = 'unnamed error';

interface PlatformErrorFields {
  readonly status: number;
  readonly type: string;
  readonly requestId: string | undefined;
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
  readonly requestId: string | undefined;
  /** `error.message` of the envelope. */
  readonly reason: string | undefined;
  readonly detail: string | undefined;
  /** One sentence per validation failure. */
  readonly validation: readonly string[];
  readonly retryAfterSeconds: number | undefined;

  /** @param call the request, as `POST https://host/reports` */
  constructor(call: string, fields: PlatformErrorFields) {
    const reason = fields.reason ? `: ${fields.reason}` : '';
    super(`${call} was answered ${fields.status} ${fields.type}${reason}${sayId(fields.requestId)}`);
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
  readonly requestId: string | undefined;

  constructor(call: string, fields: Pick<OAuthError, 'status' | 'error' | 'requestId'>) {
    super(`${call} was answered ${fields.status} ${fields.error}${sayId(fields.requestId)}`);
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
  /** Set for an answer that broke off after its headers. */
  readonly requestId: string | undefined;

  constructor(call: string, sent: boolean, code: string, requestId?: string) {
    super(`${call} ${sent ? 'was sent and got no answer' : 'could not be sent'}: ${code}`);
    this.sent = sent;
    this.code = code;
    this.host = /:\/\/([^/]+)/.exec(call)?.[1];
    this.requestId = requestId;
  }
}

/** A 2xx answer that breaks the contract. The request may have had its effect. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
  readonly status: number;
  readonly requestId: string | undefined;
  /** The fault of the answer, without a quote. */
  readonly reason: string;

  constructor(call: string, fields: Pick<UnreadableAnswer, 'status' | 'requestId' | 'reason'>) {
    super(`${call} was answered ${fields.status} with ${fields.reason}${sayId(fields.requestId)}`);
    this.status = fields.status;
    this.requestId = fields.requestId;
    this.reason = fields.reason;
  }
}

function sayId(requestId: string | undefined): string {
  return requestId === undefined ? '' : ` (request_id ${requestId})`;
}
