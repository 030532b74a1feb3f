import { globSync } from 'node:fs';
import { buildSync } from 'esbuild';
import { ROOT } from '../../infra/package.ts';

// A part of `npm run lint`: Biome has no rule about the number of imports.

/** A file that imports more does several things. Imports of types alone do not count. */
const MAX_IMPORTS = 15;

/** Files that import more, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'infra/operate/cli/program.ts': 'imports each command',
};

const { metafile } = buildSync({
  absWorkingDir: ROOT,
  entryPoints: globSync('{functions,infra}/**/*.ts', { cwd: ROOT }),
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  outdir: ROOT,
  write: false,
  metafile: true,
  logLevel: 'error',
});
const counts = Object.entries(metafile.inputs).map(([file, { imports }]) => {
  return { file, imports: new Set(imports.map(({ path }) => path)).size };
});
const tooMany = counts.filter(({ imports }) => imports > MAX_IMPORTS);
const faults = [
  ...tooMany
    .filter(({ file }) => !Object.hasOwn(EXCEPTIONS, file))
    .map(({ file, imports }) => `${file} imports ${imports} files and packages, more than ${MAX_IMPORTS}`),
  ...Object.keys(EXCEPTIONS)
    .filter((name) => !tooMany.some(({ file }) => file === name))
    .map((name) => `${name} needs no exception: take it out of test/checks/imports.ts`),
];
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
