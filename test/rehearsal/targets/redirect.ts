import type { LookupFunction } from 'node:net';
import tls, { type ConnectionOptions } from 'node:tls';

/**
 * Leads a process that imports this file first from the platform's hosts, and from those of AWS, to this
 * machine. The product stays as it is: it checks that a host has a public address, and verifies the
 * certificate, which is for localhost. Only the address and the port that it connects to are others.
 */

/** The product checks it. Nothing is sent there. */
const PUBLIC = '93.184.216.34';

/** Ports by the end of a host's name. */
const ports: Readonly<Record<string, number>> = JSON.parse(process.env.REHEARSAL_PORTS ?? '{}');
const { connect } = tls;

Object.assign(tls, {
  connect: (...call: unknown[]) => {
    const options = Object(call[0]) as ConnectionOptions;
    const end = Object.keys(ports).find((name) => options.host?.endsWith(name));
    if (end === undefined) return Reflect.apply(connect, tls, call);
    const lookup: LookupFunction = (_host, asked, answer) => {
      const here = [{ address: '127.0.0.1', family: 4 }];
      // The product's lookup may refuse the address. The SDK has none.
      if (!options.lookup) return answer(null, here);
      options.lookup(PUBLIC, asked, (error) => answer(error, here));
    };
    return connect({ ...options, port: ports[end], servername: 'localhost', lookup });
  },
});

// A function finds AWS by its own names, as in AWS. A pre-signed URL then has a public host.
if (process.env.AWS_LAMBDA_FUNCTION_NAME) delete process.env.AWS_ENDPOINT_URL;
