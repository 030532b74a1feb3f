import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scaledClock } from '../../../infra/local/clock.ts';
import { createFunction, type LocalFunction } from '../../../infra/local/lambda.ts';
import type { FunctionSpec, LogLine } from '../../../infra/local/lambda-instance.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A bundle whose handler does what `event.do` names. */
const HANDLER = `
import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
let calls = 0;
const actions = {
  echo: (event) => event,
  count: () => ++calls,
  environment: () => process.env,
  context: (event, { getRemainingTimeInMillis, ...context }) => ({ ...context, left: getRemainingTimeInMillis() }),
  nothing: () => undefined,
  json: () => ({ at: new Date(0), none: undefined }),
  bigint: () => 1n,
  throw: () => { throw Object.assign(new Error('no such report'), { name: 'RequestRefused' }); },
  throwText: () => { throw 'only text'; },
  exit: () => process.exit(3),
  later: () => { setTimeout(() => { throw new RangeError('too late'); }); return new Promise(() => {}); },
  unhandled: () => { Promise.reject(new RangeError('nobody')); return new Promise(() => {}); },
  memory: async () => {
    for (const all = []; ; await null) for (let n = 0; n < 10; n++) all.push(new Array(1000).fill(n));
  },
  write: () => {
    const before = readdirSync(tmpdir());
    writeFileSync(tmpdir() + '/file', '');
    return [tmpdir(), ...before.map(() => tmpdir())];
  },
  hang: () => new Promise(() => {}),
  spin: () => { for (;;) {} },
  wait: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, 'waited')),
  log: () => { console.log('to stdout'); console.error('to stderr'); },
};
export const handler = async (event, context) => actions[event.do](event, context);
`;

const CLOCK = scaledClock(1);

/** Everything that the functions of the test file print. */
export const lines: LogLine[] = [];

/** Creates a function with that handler. @param spec replaces parts of its default */
export function create(spec: Partial<FunctionSpec> = {}, clock = CLOCK): LocalFunction & AsyncDisposable {
  const file = join(temporaryDirectory(), 'index.mjs');
  writeFileSync(file, HANDLER);
  const whole: FunctionSpec = {
    name: 'Step',
    arn: 'arn:aws:lambda:eu-west-1:000000000000:function:Step',
    file,
    environment: { BUCKET: 'exports' },
    timeoutSeconds: 30,
    memoryMb: 256,
    ...spec,
  };
  const local = createFunction(whole, clock, (line) => lines.push(line));
  return { ...local, [Symbol.asyncDispose]: () => local.close() };
}
