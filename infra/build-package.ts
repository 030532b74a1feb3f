import { execSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import PACKAGE from '../package.json' with { type: 'json' };
import { bundleInterpreter } from './lab/local/assembly/interpreter.ts';
import { DIST, ROOT } from './package.ts';
import { bundleSources, LAMBDA_LOCK, readLambdaLock } from './stack/constructs/bundle.ts';

// Fills the folder `dist` for `npm pack`. The code of devDependencies becomes part of the package's own.

rmSync(DIST, { recursive: true, force: true });
bundleSources(join(DIST, 'functions'));
await bundleInterpreter(DIST);
buildSync({
  absWorkingDir: ROOT,
  entryPoints: {
    construct: 'infra/index.ts',
    main: 'infra/operate/cli/main.ts',
    // These two run in processes of their own.
    'make-assembly': 'infra/lab/local/assembly/make-assembly.ts',
    'lambda-process': 'infra/lab/local/lambda/lambda-process.ts',
  },
  outdir: DIST,
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
  logLevel: 'error',
});
// In a file of its own: esbuild may load a chunk before the module that a file imports first.
writeFileSync(
  join(DIST, 'index.js'),
  "import '../infra/node-version.js';\nexport * from './construct.js';\n",
);
writeFileSync(LAMBDA_LOCK, readLambdaLock());
cpSync(join(ROOT, 'infra/operate/page/page.css'), join(DIST, 'page.css'));
writeFileSync(join(DIST, 'licences.txt'), readLicences());
execSync('npx tsc --project infra/tsconfig.package.json', { cwd: ROOT, stdio: 'inherit' });

/** The licences of the packages whose code was built. They have to go with its copies. */
function readLicences(): string {
  const read = (files: string) =>
    globSync(files, { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
  // esbuild names the file of each module in a comment.
  const module = /(?<=^\s*\/\/ ).*node_modules\/(@[^/]+\/)?[^/]+/gm;
  const texts = [...new Set(read('dist/**/*.{js,cjs}').join('').match(module))].sort().map((folder) => {
    const { name, version, license } = JSON.parse(read(`${folder}/package.json`).join());
    const licences = read(`${folder}/{LICEN[CS]E,licen[cs]e,NOTICE}*`);
    return [`${name} ${version} (${license})`, ...licences].join('\n\n');
  });
  return `${texts.join('\n\n----\n\n')}\n`;
}
