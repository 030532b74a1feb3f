import { execSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import PACKAGE from '../package.json' with { type: 'json' };
import { bundleSources, LAMBDA_LOCK, readLambdaLock } from './constructs/bundle.ts';
import { bundleInterpreter } from './local/assembly/interpreter.ts';
import { DIST, ROOT, TEMPLATES } from './package.ts';

// Fills the folder `dist` for `npm pack`. The code of devDependencies becomes part of the package's own.

rmSync(DIST, { recursive: true, force: true });
const functions = bundleSources(join(DIST, 'functions'));
const interpreter = await bundleInterpreter(DIST);
const { metafile } = buildSync({
  absWorkingDir: ROOT,
  entryPoints: [
    'infra/index.ts',
    'infra/cli/main.ts',
    // These two run in processes of their own.
    'infra/local/assembly/make-assembly.ts',
    'infra/local/lambda/lambda-process.ts',
  ],
  outdir: DIST,
  entryNames: '[name]',
  bundle: true,
  splitting: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  mainFields: ['module', 'main'],
  external: [...Object.keys({ ...PACKAGE.dependencies, ...PACKAGE.peerDependencies }), 'esbuild'],
  // Packages in CommonJS require Node's modules.
  banner: {
    js: "import { createRequire as toRequire } from 'node:module';\nconst require = toRequire(import.meta.url);",
  },
  metafile: true,
  logLevel: 'error',
});
writeFileSync(LAMBDA_LOCK, readLambdaLock());
cpSync(TEMPLATES, join(DIST, 'init'), { recursive: true });
cpSync(join(ROOT, 'infra/page/page.css'), join(DIST, 'page.css'));
writeFileSync(
  join(DIST, 'licences.txt'),
  licencesOf([...functions, ...interpreter, ...Object.keys(metafile.inputs)]),
);
execSync('npx tsc --project infra/tsconfig.package.json', { cwd: ROOT, stdio: 'inherit' });

/** The licences of the packages that these files belong to. They have to go with copies of the code. */
function licencesOf(files: readonly string[]): string {
  const folders = files.flatMap((file) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
    const found = globSync('{LICEN[CS]E,licen[cs]e,NOTICE}*', { cwd: join(ROOT, folder) });
    const words = found.map((file) => readFileSync(join(ROOT, folder, file), 'utf8'));
    return [`${name} ${version} (${license})`, ...words].join('\n\n');
  });
  return `${texts.join('\n\n----\n\n')}\n`;
}
