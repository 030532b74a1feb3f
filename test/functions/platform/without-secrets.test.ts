import { describe, expect, it, test } from 'vitest';
import { withoutSecrets } from '../../../functions/platform/without-secrets.ts';

const SECRET = String.raw`canary"b\c\\d/e+f=g%2Fh&i<j>k'(l)[m]*$^|{n}~é😀 o`;

const json = (text: string) => JSON.stringify(text).slice(1, -1);
const base64 = (text: string) => Buffer.from(text).toString('base64');
const escapeAll = (spell: (character: string) => string) => (text: string) =>
  Array.from(text, (character) => (/\w/.test(character) ? character : spell(character))).join('');

const SPELLINGS: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'in capitals': (secret) => secret.toUpperCase(),
  'in JSON': json,
  'in JSON in JSON': (secret) => json(json(secret)),
  'in JSON that escapes slashes': (secret) => json(secret).replaceAll('/', '\\/'),
  'in JSON of ASCII alone': escapeAll((character) =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  ),
  'in a URL': encodeURIComponent,
  'in a URL, in small letters': (secret) =>
    encodeURIComponent(secret).replace(/%../g, (byte) => byte.toLowerCase()),
  'in a URL in a URL': (secret) => encodeURIComponent(encodeURIComponent(secret)),
  'in a form': (secret) => new URLSearchParams([['', secret]]).toString().slice(1),
  'in HTML': (secret) =>
    secret
      .replaceAll('&', '&amp;')
      .replaceAll('"', '&quot;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll("'", '&#39;'),
  'in HTML of numbers': escapeAll((character) => `&#x${character.codePointAt(0)?.toString(16)};`),
};

it.each(Object.entries(SPELLINGS))('a secret %s is taken out, and nothing else', (_, spell) => {
  expect(withoutSecrets(`no: ${spell(SECRET)}, ${spell(SECRET)}.`, ['other', SECRET])).toBe(
    'no: [redacted], [redacted].',
  );
});

describe('of base64', () => {
  const digits = /[A-Za-z0-9+/_-]{4,}/;

  it.each(['', 'x', 'xx', 'Bearer '])('what is the secret’s is taken out, behind "%s"', (before) => {
    for (const after of ['', ':', '::']) {
      const clean = withoutSecrets(base64(before + SECRET + after), [SECRET]);
      // Digits that another character shares may stay: fewer than four at either end.
      const own = clean.replace(base64(before).slice(0, -4), '').split('[redacted]');
      expect(own).toHaveLength(2);
      for (const rest of own) expect(rest.replaceAll('=', '').length).toBeLessThan(4 + before.length);
    }
  });

  it('the alphabet for URLs is known, and what a URL makes of the other', () => {
    const secret = '>>>???>>>???ÿÿÿ';
    expect(base64(secret)).toMatch(/[+/]/);
    const inUrl = Buffer.from(secret).toString('base64url');
    for (const text of [
      inUrl,
      encodeURIComponent(base64(secret)),
      json(base64(secret)).replaceAll('/', '\\/'),
    ])
      expect(withoutSecrets(text, [secret]).replaceAll('[redacted]', ' ')).not.toMatch(digits);
  });

  it('a few digits are a word like any other', () => {
    expect(withoutSecrets('QUJD', ['ABC'])).toBe('QUJD');
  });
});

test('a secret of any length is taken out, whatever it is made of', () => {
  for (const one of ['x', '"', '\\']) {
    const secret = `canary${one.repeat(1_200)}`;
    expect(withoutSecrets(`a${secret}b${json(secret)}c`, [secret])).toMatch(
      /^a(\[redacted\])+b(\[redacted\])+c$/,
    );
  }
});

test('an empty secret is none, and no secret leaves the text as it is', () => {
  expect(withoutSecrets('a b', [''])).toBe('a b');
  expect(withoutSecrets('a b', [])).toBe('a b');
});

test.each(['\\', '%25', '&amp;', 'canary\\\\\\'])('a megabyte of %s does not take long', (piece) => {
  const began = performance.now();
  withoutSecrets(piece.repeat(1_000_000 / piece.length), [SECRET]);
  // Milliseconds; what grows with the square would take hours.
  expect(performance.now() - began).toBeLessThan(5_000);
});
