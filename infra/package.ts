import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. Built code lies in `dist`, in files without folders. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The built package is `.js`. The repository runs its sources, which Node refuses to do in node_modules. */
export const BUILT = import.meta.filename.endsWith('.js');

/** Holds what `npm pack` builds: the code, the Lambda functions, the templates of `init`. */
export const DIST = join(ROOT, 'dist');

/** The files that `init` copies. */
export const TEMPLATES = BUILT ? join(DIST, 'init') : join(ROOT, 'infra/init');

/** A module that runs in a process of its own, beside the module that starts it. */
export function moduleBeside({ dirname, filename }: ImportMeta, name: string): string {
  return join(dirname, `${name}${extname(filename)}`);
}

/** How a message names the command line. */
export const PROGRAM = BUILT ? 'npx ad-report-export' : 'npm run export --';
