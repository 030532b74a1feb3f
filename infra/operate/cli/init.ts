import { execSync } from 'node:child_process';
import { existsSync, globSync, mkdtempDisposableSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Command } from 'commander';
import CDK from '../../../cdk.json' with { type: 'json' };
import { count } from '../../../functions/workflow/count.ts';
import PACKAGE from '../../../package.json' with { type: 'json' };
import { BUILT, PROGRAM_OF_APP, ROOT } from '../../package.ts';
import { CONFIG_KEY } from '../../stack/config/config.ts';
import { quoteArgument } from '../days/next-command.ts';
import { CommandFailed, refuse } from '../place/errors.ts';
import { printLines, printMessage } from './layout.ts';
import { examples } from './options.ts';
import { makeFolders, writeFiles } from './write-files.ts';

const TEMPLATES = join(ROOT, 'infra/init');

/** The name that npm gives a package's tarball. */
const TARBALL = `${PACKAGE.name}-${PACKAGE.version}.tgz`;

/** The tarball's path in the app. Whoever clones the app gets the package with it. */
const VENDORED = `vendor/${TARBALL}`;

export function createCommand(): Command {
  return new Command('init')
    .argument('<dir>', 'the folder of the app')
    .option('--sandbox', 'also for two stacks to try the exports without a platform')
    .addHelpText('after', examples('init my-ads', 'init my-ads --sandbox'))
    .action((dir: string, { sandbox = false }: { sandbox?: boolean }) => {
      const files = createApp(basename(resolve(dir)), sandbox);
      const paths = [VENDORED, ...Object.keys(files)];
      const taken = paths.filter((path) => existsSync(join(dir, path)));
      refuse(taken.map((path) => `${join(dir, path)} exists: remove it, or name another folder`));
      makeFolders(dir, paths);
      const all = { ...files, [VENDORED]: packPackage() };
      writeFiles(dir, all);
      const next = `cd ${quoteArgument(dir)} && npm install && ${PROGRAM_OF_APP} start`;
      printLines([`Wrote ${count(Object.keys(all).length, 'file')}. Try it: ${next}`]);
    });
}

/**
 * The tarball of this package. The repository builds it, and an installed package is packed as it is.
 *
 * @throws CommandFailed with npm's reason
 */
function packPackage(): Buffer {
  printMessage(`Packing ${TARBALL} …`);
  using folder = mkdtempDisposableSync(join(tmpdir(), 'ad-report-export-'));
  const env = { ...process.env, npm_config_pack_destination: folder.path };
  try {
    // In a shell, because npm is a script on Windows. The settings of a user may leave out the script that
    // builds.
    execSync(`npm pack --ignore-scripts=${BUILT}`, { cwd: ROOT, env, stdio: 'pipe' });
    return readFileSync(join(folder.path, TARBALL));
  } catch (error) {
    throw new CommandFailed(
      `npm could not pack ${PACKAGE.name}: ${(error as Error).message}`,
      'Correct what npm names, and repeat the command.',
      { cause: error },
    );
  }
}

/** The templates of `--sandbox` by their path in the app. A file is made of all its templates. */
const SANDBOX_TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['README.md', 'README-sandbox.md'],
  'app.ts': ['app-with-sandbox.ts'],
  'sandbox.ts': ['sandbox.ts'],
};

/** The files of a CDK app by their path. */
function createApp(folder: string, sandbox: boolean): Record<string, string> {
  const { [CONFIG_KEY]: _, ...flags } = CDK.context;
  const { name, engines, peerDependencies, devDependencies } = PACKAGE;
  const manifest = {
    name: folder.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
    private: true,
    type: 'module',
    engines,
    dependencies: { [name]: `file:${VENDORED}`, ...peerDependencies },
    // It has to read what aws-cdk-lib writes, which may be newer too.
    devDependencies: { 'aws-cdk': `^${devDependencies['aws-cdk']}` },
  };
  const ofSandbox = Object.entries(SANDBOX_TEMPLATES);
  const exclude = ['README-sandbox.md', 'app-with-sandbox.ts', 'sandbox.ts'];
  const templates = globSync(['*.*', '.github/*/*'], { cwd: TEMPLATES, exclude }).sort();
  const read = (...names: string[]) =>
    names.map((name) => readFileSync(join(TEMPLATES, name), 'utf8')).join('');
  return {
    'package.json': toJsonFile(manifest),
    'cdk.json': toJsonFile({ app: `node --import ${PACKAGE.name}/node-version app.ts`, context: flags }),
    // npm packs no .gitignore.
    '.gitignore': 'node_modules/\ncdk.out/\nout/\ncredential*.json\n',
    ...Object.fromEntries(templates.map((path) => [path, read(path)])),
    ...(sandbox && Object.fromEntries(ofSandbox.map(([path, names]) => [path, read(...names)]))),
  };
}

function toJsonFile(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
