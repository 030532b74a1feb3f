import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Command } from 'commander';
import CDK from '../../cdk.json' with { type: 'json' };
import { count } from '../../functions/workflow/count.ts';
import PACKAGE from '../../package.json' with { type: 'json' };
import { CONFIG_KEY } from '../config/config.ts';
import { refuse } from '../knowledge/errors.ts';
import { quote } from '../knowledge/next-command.ts';
import { ROOT } from '../package.ts';
import { printLines } from './layout.ts';
import { examples } from './options.ts';
import { writeFiles } from './write-files.ts';

const TEMPLATES = join(ROOT, 'infra/init');

export function createCommand(): Command {
  return new Command('init')
    .argument('<dir>', 'the folder of the app')
    .addHelpText('after', examples('init my-ads'))
    .action((dir: string) => {
      const files = createApp(basename(resolve(dir)));
      const taken = Object.keys(files).filter((path) => existsSync(join(dir, path)));
      refuse(taken.map((path) => `${join(dir, path)} exists: remove it, or name another folder`));
      writeFiles(dir, files);
      const next = `cd ${quote(dir)} && npm install && npx ad-report-export start`;
      printLines([`Wrote ${count(Object.keys(files).length, 'file')}. Try it: ${next}`]);
    });
}

/** The files of a CDK app by their path. */
function createApp(folder: string): Record<string, string> {
  const { [CONFIG_KEY]: _, ...flags } = CDK.context;
  const { name, version, engines, peerDependencies, devDependencies } = PACKAGE;
  const manifest = {
    name: folder.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
    private: true,
    type: 'module',
    engines,
    dependencies: { [name]: `^${version}`, ...peerDependencies },
    devDependencies: { 'aws-cdk': devDependencies['aws-cdk'] },
  };
  const templates = globSync(['*.*', '.github/*/*'], { cwd: TEMPLATES }).sort();
  return {
    'package.json': json(manifest),
    'cdk.json': json({ app: 'node app.ts', context: flags }),
    // npm packs no .gitignore.
    '.gitignore': 'node_modules/\ncdk.out/\nout/\ncredential*.json\n',
    ...Object.fromEntries(templates.map((path) => [path, readFileSync(join(TEMPLATES, path), 'utf8')])),
  };
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
