import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StateMachine } from 'aws-local-stepfunctions';
import { buildSync } from 'esbuild';
import { type Definition, mapStates } from './definition.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Packages that aws-local-stepfunctions loads but never calls here. They take most of its load time. */
const UNUSED = ['asl-validator', '@aws-sdk/client-lambda', '@aws-sdk/credential-providers'];

/**
 * Bundles the interpreter into one CommonJS file. CommonJS because the run evaluates it with its own Date and timers.
 *
 * @param folder also gets the empty module that stands for the unused packages
 */
export function bundleInterpreter(folder: string, file: string): void {
  const empty = join(folder, 'empty.cjs');
  writeFileSync(empty, '');
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: ['aws-local-stepfunctions'],
    outfile: join(folder, file),
    alias: Object.fromEntries(UNUSED.map((name) => [name, empty])),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'error',
  });
}

/**
 * Checks the definition before it is cached, so that no run has to.
 *
 * @throws Error that lists what is wrong. A Task without TimeoutSeconds is wrong: the interpreter would assume 60 s, AWS waits
 * forever.
 */
export function validateDefinition(definition: Definition): void {
  mapStates(definition, (state, name) => {
    if (state.Type === 'Task' && state.TimeoutSeconds === undefined)
      throw new Error(`The task ${name} has no TimeoutSeconds`);
    return state;
  });
  type Interpreted = ConstructorParameters<typeof StateMachine>[0];
  // Our ARNs have a Region and an account that checkArn refuses.
  const validationOptions = { checkArn: false, checkPaths: true };
  new StateMachine(definition as unknown as Interpreted, { validationOptions });
}
