import { Logger } from '@aws-lambda-powertools/logger';

/** One JSON line per entry. Fields are ids, numbers and names. */
export interface Log {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** Puts fields on every later line of this call. */
  keep(fields: Fields): void;
}

type Fields = Readonly<Record<string, unknown>>;

/** Names that hold a secret wherever they occur; nobody logs them, and if somebody does, the value is not written. */
const SECRET_FIELD = /token$|secret|api_?key|authorization|password|download_?url|^code$/i;

/** A `code` that is no authorization code: ECONNRESET, UND_ERR_SOCKET. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]*$/;

/** A URL's query carries the signature of a pre-signed one. */
const URL_QUERY = /(\bhttps?:\/\/[^\s?"'<>]+)\?[^\s"'<>]*/g;

/** More than any sentence of ours; the time that a search for URLs takes grows with the square: 20 ms for this. */
const MAX_CHARACTERS = 10_000;

/** The last line of defence, for text that came from elsewhere. */
export function redact(text: string): string {
  const short = text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 1)}…`;
  return short.replaceAll(URL_QUERY, '$1?…').replaceAll(/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 …');
}

function redactField(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const isSecret = SECRET_FIELD.test(key) && !(key === 'code' && SYSTEM_CODE.test(value));
  return isSecret ? '…' : redact(value);
}

/** @param keys on every line, so that a line can be found by execution, window and attempt */
export function openLogger(): Log & { setKeys(keys: Fields): void } {
  const logger = new Logger({ jsonReplacerFn: redactField });
  return {
    info: (message, fields = {}) => logger.info(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
    keep: (fields) => logger.appendKeys(fields),
    setKeys(keys) {
      logger.resetKeys();
      logger.appendKeys(keys);
    },
  };
}
