import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. Built code lies in `dist`, in files without folders. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The built package is `.js`. The repository runs its sources, which Node refuses to do in node_modules. */
export const BUILT = import.meta.filename.endsWith('.js');

/** Holds what `npm pack` builds: the code and the Lambda functions. */
export const DIST = join(ROOT, 'dist');

/** A module that runs in a process of its own, beside the module that starts it. */
export function moduleBeside({ dirname, filename }: ImportMeta, name: string): string {
  return join(dirname, `${name}${extname(filename)}`);
}

/**
 * The command line in an app that uses the package. It downloads nothing: nobody owns the package's name in
 * npm's registry, and `npx` alone would run whatever somebody publishes under it.
 */
export const PROGRAM_OF_APP = 'npx --no-install ad-report-export';

/** The command line, as messages name it. */
export const PROGRAM = BUILT ? PROGRAM_OF_APP : 'npm run export --';
