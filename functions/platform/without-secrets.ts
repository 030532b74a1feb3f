/** What quotes a secret may be escaped for what it is quoted in, so often at most. */
const NESTED = 3;

/** Digits of base64 that are surely the secret's; fewer of them stand in many a word. */
const MIN_DIGITS = 8;

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ '"': 'quot', '&': 'amp', "'": 'apos', '<': 'lt', '>': 'gt' },
};

/** A pattern has some 200 characters for one that can be escaped, and V8 refuses what is too long. */
const MAX_CHARACTERS = 1_000;

/** By the list itself: an answer has many strings, and all of them are searched for the same secrets. */
const patterns = new WeakMap<readonly string[], readonly RegExp[]>();

/**
 * A text that a server has written, without the secrets that it was sent, however it spells them: as they are, escaped
 * for JSON, a URL, a form or HTML, and in base64, by themselves or within something longer.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const known = patterns.get(secrets) ?? secrets.flatMap(divide).map(patternOf);
  patterns.set(secrets, known);
  return known.reduce((clean, pattern) => clean.replace(pattern, '[redacted]'), text);
}

/** As evenly as can be, so that no piece is a word that stands anywhere. */
function divide(secret: string): string[] {
  const pieces = Math.ceil(secret.length / MAX_CHARACTERS);
  const size = Math.ceil(secret.length / pieces);
  return Array.from({ length: pieces }, (_, at) => secret.slice(at * size, (at + 1) * size));
}

function patternOf(secret: string): RegExp {
  return new RegExp([escaped(secret), ...encoded(secret)].join('|'), 'gi');
}

/** Every repetition in it is bounded, or a text could take a time that grows with its square. */
function escaped(secret: string): string {
  const pieces = secret.match(/\w+|\\+|./gsu) ?? [];
  return pieces.map((piece) => (/^\w/.test(piece) ? piece : escapedPiece(piece))).join('');
}

/** @param piece a character, or a run of backslashes, which could be taken apart in too many ways */
function escapedPiece(piece: string): string {
  const [character = ''] = piece;
  const code = piece.codePointAt(0) ?? 0;
  const percent = [...Buffer.from(piece)].map((byte) => `%(?:25){0,${NESTED}}${hex(byte, 2)}`);
  const backslashes = `\\\\{1,${2 ** NESTED}}`;
  const units = Array.from({ length: piece.length }, (_, at) => `u${hex(piece.charCodeAt(at), 4)}`);
  const ampersand = `&(?:amp;){0,${NESTED}}`;
  const name = ENTITIES[character];
  const spellings = [
    character === '\\'
      ? `\\\\{${piece.length},${piece.length * 2 ** NESTED}}`
      : `(?:${backslashes})?${units.map((unit) => `\\${unit}`).join('')}`,
    percent.join(''),
    units.map((unit) => backslashes + unit).join(''),
    `(?:${ampersand}#(?:0{0,4}${code}|x0{0,4}${hex(code, 1)});){${Array.from(piece).length}}`,
    ...(name === undefined ? [] : [`${ampersand}${name};`]),
    ...(character === ' ' ? ['\\+'] : []),
  ];
  return `(?:${spellings.join('|')})`;
}

/** What of its base64 depends on nothing that may stand before or after it, at each of the three places it may have. */
function encoded(secret: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const digits = bytes.toString('base64').slice(before && before + 1, Math.floor((bytes.length * 8) / 6));
    if (digits.length < MIN_DIGITS) return [];
    // The alphabet for URLs has others in the place of two.
    const spelled = digits.replace(
      /[+/]/g,
      (digit) => `(?:${escapedPiece(digit)}|${digit === '+' ? '-' : '_'})`,
    );
    return `${spelled}={0,2}`;
  });
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}
