import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/**
 * Makes a self-signed certificate for 127.0.0.1 and localhost, valid for a day, and its key, both as PEM. Node can sign, but
 * it cannot make certificates, so this writes the DER (X.690) itself.
 */
export function makeCertificate(): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const name = sequence(set(sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from('localhost')))));
  const toSign = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(
      0x02,
      createHash('sha256')
        .update(publicKey.export({ type: 'spki', format: 'der' }))
        .digest()
        .fill(1, 0, 1),
    ),
    ecdsaWithSha256,
    name,
    sequence(utcTime(Date.now() - 60 * 60 * 1000), utcTime(Date.now() + 24 * 60 * 60 * 1000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(basicConstraints(), alternativeNames())),
  );
  const signature = sign('sha256', toSign, privateKey);
  const cert = sequence(toSign, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert: pem(cert) };
}

/** Marks the certificate as its own authority, so that a client can trust it. */
function basicConstraints(): Buffer {
  const authority = sequence(der(0x01, Buffer.from([0xff])));
  return sequence(oid(0x55, 0x1d, 0x13), der(0x01, Buffer.from([0xff])), der(0x04, authority));
}

function alternativeNames(): Buffer {
  const names = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  return sequence(oid(0x55, 0x1d, 0x11), der(0x04, names));
}

function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  const head =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), body]);
}

function sequence(...content: Buffer[]): Buffer {
  return der(0x30, ...content);
}

function set(...content: Buffer[]): Buffer {
  return der(0x31, ...content);
}

function oid(...bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function utcTime(time: number): Buffer {
  const digits = new Date(time).toISOString().replace(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
