import type { LookupFunction } from 'node:net';
import tls, { type ConnectionOptions } from 'node:tls';

/**
 * Leads a process that imports this file first from the platform's hosts to this machine. The product stays
 * as it is: it checks that a host has a public address, and verifies the certificate, which is for localhost.
 * Only the address and the port that it connects to are others.
 */

/** The product checks it. Nothing is sent there. */
const PUBLIC = '93.184.216.34';

const ports = JSON.parse(process.env.REHEARSAL_PORTS ?? '{}');
const { connect } = tls;

Object.assign(tls, {
  connect: (...call: unknown[]) => {
    const options = Object(call[0]) as ConnectionOptions;
    const port = ports[String(options.host)];
    if (port === undefined) return Reflect.apply(connect, tls, call);
    const lookup: LookupFunction = (_host, asked, answer) =>
      options.lookup?.(PUBLIC, asked, (error) => answer(error, [{ address: '127.0.0.1', family: 4 }]));
    return connect({ ...options, port, servername: 'localhost', lookup });
  },
});
