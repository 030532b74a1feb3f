import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import PACKAGE from '../../package.json' with { type: 'json' };
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '../..');
const INSTALL = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];

// The report on versions names the checks of a synth, which only this repository adds.
const SYNTH = ['cdk', 'synth', '--quiet', '--no-version-reporting'];

/** A tarball, as `npm pack --json` describes it. */
interface Tarball {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

interface Template {
  readonly Resources: Record<string, { readonly Type: string; readonly Properties: Record<string, unknown> }>;
}

/** A folder outside the repository, so that nothing is found in its node_modules. */
let folder: string;
let app: string;
let tarball: Tarball;
/** What the example printed, run by the line that `init` printed. */
let started: string;
const ended = new DisposableStack();

/** @returns what the command printed on stdout @throws Error with all that it printed */
async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  return runWith({}, cwd, command, ...args);
}

async function runWith(changes: NodeJS.ProcessEnv, cwd: string, command: string, ...args: string[]) {
  // `npm run` tells the commands that it runs to work in this repository.
  const { npm_config_local_prefix: _, ...env } = process.env;
  const options = { cwd, env: { ...env, XDG_CACHE_HOME: join(folder, 'cache'), ...changes } };
  return (await promisify(execFile)(command, args, options)).stdout;
}

/** Commits all files of a folder, and clones them into another one. */
async function cloneInto(to: string, from: string): Promise<void> {
  const author = ['-c', 'user.name=Ads', '-c', 'user.email=ads@example.com'];
  await run(from, 'git', 'init', '--quiet');
  await run(from, 'git', 'add', '--all');
  await run(from, 'git', ...author, 'commit', '--quiet', '--message', 'Begin');
  await run(dirname(from), 'git', 'clone', '--quiet', from, to);
}

function templateIn(assembly: string, stack: string) {
  const text = readFileSync(join(assembly, `${stack}.template.json`), 'utf8');
  return { text, ...(JSON.parse(text) as Template) };
}

beforeAll(async () => {
  folder = temporaryDirectory((remove) => ended.defer(remove));
  app = join(folder, 'my-ads');
  mkdirSync(join(folder, 'empty'));
  writeFileSync(join(folder, 'empty/cdk.json'), '{"app":"node another.ts","context":{}}');
  // Settings of a user that leave out scripts.
  const printed = await runWith(
    { npm_config_ignore_scripts: 'true' },
    ROOT,
    'npm',
    'run',
    '--silent',
    'export',
    '--',
    'init',
    app,
  );
  started = await run(ROOT, 'sh', '-c', /^Wrote .*\. Try it: (.*)$/m.exec(printed)?.[1] ?? 'exit 9');
  await cloneInto(join(folder, 'clones/my-ads'), app);
  [tarball] = JSON.parse(await run(ROOT, 'npm', 'pack', '--json', '--dry-run', '--ignore-scripts'));
  const { 'aws-cdk-lib': library, constructs } = PACKAGE.devDependencies;
  await run(app, 'npm', ...INSTALL, `aws-cdk-lib@${library}`, `constructs@${constructs}`);
  await run(folder, 'npm', ...INSTALL, join(app, 'vendor', tarball.filename));
  cpSync(join(import.meta.dirname, 'package/app.ts'), join(app, 'check.ts'));
  await run(app, 'npx', ...SYNTH, '--app', 'node check.ts', '--output', 'check.out');
}, 600_000);

afterAll(() => ended.dispose());

it('the tarball has the built code, the bundles, the templates and the documents, and no source', () => {
  const paths = tarball.files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      ...[
        'infra/ad-report-export.js',
        'infra/node-version.js',
        'package.json',
        'README.md',
        'LICENSE',
        'CHANGELOG.md',
        'cdk.json',
        'infra/CONFIG.md',
      ],
      ...[
        'dist/index.js',
        'dist/main.js',
        'dist/make-assembly.js',
        'dist/lambda-process.js',
        'dist/page.css',
      ],
      ...['dist/functions/save-report/index.cjs', 'dist/interpreter.cjs', 'dist/lambda-lock.json'],
      ...['infra/init/app.ts', 'dist/types/infra/index.d.ts', 'dist/licences.txt'],
    ]),
  );
  const built =
    /^(dist\/([\w.-]+\.(js|cjs|css|json|txt)|functions\/[a-z-]+\/index\.cjs|types\/.*\.d\.ts)|[\w.-]+|infra\/(ad-report-export|node-version)\.js|(infra|functions)\/\w+\.md|infra\/init\/.*)$/;
  expect(paths.filter((path) => !built.test(path))).toEqual([]);
});

it('the licences of bundled packages go with their code', () => {
  const licences = readFileSync(join(folder, 'node_modules/ad-report-export/dist/licences.txt'), 'utf8');
  for (const name of ['commander', '@aws-sdk/client-s3', 'aws-local-stepfunctions'])
    expect(licences).toMatch(new RegExp(`^${name} [\\d.]+ \\(.+\\)$`, 'm'));
});

it('the tarball is as small as its bundles allow', () => {
  expect(tarball.size).toBeLessThan(8_000_000);
  expect(tarball.files.length).toBeLessThan(300);
});

it('the app that init wrote runs the example, synthesizes, and its types are right', async () => {
  expect(started).toContain(
    `npx --no-install ad-report-export query --local 'SELECT * FROM "example" LIMIT 10'`,
  );
  await run(app, 'npx', ...SYNTH);
  await run(app, join(ROOT, 'node_modules/.bin/tsc'));
});

it('init of the installed package writes the tarball that it came from', async () => {
  await run(folder, 'npx', '--no-install', 'ad-report-export', 'init', 'second');
  const [first, second] = [app, join(folder, 'second')].map((place) =>
    readFileSync(join(place, 'vendor', tarball.filename)),
  );
  expect(first?.equals(second ?? Buffer.of())).toBe(true);
});

describe('an app of init --sandbox', () => {
  let tried: string;

  beforeAll(async () => {
    tried = join(folder, 'tried');
    await run(folder, 'npx', '--no-install', 'ad-report-export', 'init', 'tried', '--sandbox');
    // Installing the same packages once more would take a minute.
    symlinkSync(join(app, 'node_modules'), join(tried, 'node_modules'));
  }, 120_000);

  it('has the two stacks of the sandbox with -c sandbox=true, and synthesizes them', async () => {
    const listed = await run(tried, 'npx', 'cdk', 'list', '-c', 'sandbox=true');
    expect(listed.trim().split('\n')).toEqual([
      'ad-report-export-sandbox-platform',
      'ad-report-export-sandbox',
    ]);
    const { Resources } = templateIn(join(tried, 'cdk.out'), 'ad-report-export-sandbox-platform');
    expect(Object.values(Resources).map(({ Type }) => Type)).toContain('AWS::Lambda::Url');
  });

  it('has its own stack without it', async () => {
    expect((await run(tried, 'npx', 'cdk', 'list')).trim()).toBe('ad-report-export');
  });

  it('says in one message what is wrong with the flag', async () => {
    const failed = await run(tried, 'npx', 'cdk', 'list', '-c', 'sandbox=yes').catch(({ stderr }) => stderr);
    expect(failed).toContain('the config cannot be deployed:\n  -c sandbox: must be true, or absent');
  });

  it('has the right types', async () => {
    await run(tried, join(ROOT, 'node_modules/.bin/tsc'));
  });

  it('has a config with which a command runs the exports of the sandbox here, too', async () => {
    const args = ['daily-campaigns', '--local', '--speed', '1000', '--config', 'sandbox.ts'];
    const printed = await run(tried, 'npx', '--no-install', 'ad-report-export', 'run', ...args);
    expect(printed).toContain('account=sandbox/export=daily-campaigns');
  });
});

it("a clone of the app runs its workflow's commands, with empty caches and nothing beside it", async () => {
  const clone = join(folder, 'clones/my-ads');
  const { jobs } = parse(readFileSync(join(clone, '.github/workflows/deploy.yml'), 'utf8'));
  const commandsOf = (job: { steps: { run?: string }[] }) => job.steps.flatMap(({ run: line }) => line ?? []);
  expect(commandsOf(jobs.deploy)).toEqual([
    'npm ci --ignore-scripts',
    'npx cdk deploy --require-approval never',
  ]);
  const caches = {
    npm_config_cache: join(folder, 'clones/npm'),
    XDG_CACHE_HOME: join(folder, 'clones/cache'),
  };
  for (const line of commandsOf(jobs.synth)) await runWith(caches, clone, 'sh', '-c', line);
  const { Resources } = templateIn(join(clone, 'cdk.out'), 'ad-report-export');
  expect(Object.values(Resources).map(({ Type }) => Type)).toContain('AWS::StepFunctions::StateMachine');
}, 600_000);

describe('with Node 20', () => {
  const NEEDS = /^error: ad-report-export needs Node 24 or newer, and this is Node 20\.[\d.]+$/m;

  beforeAll(async () => {
    const old = join(folder, 'old');
    mkdirSync(old);
    writeFileSync(join(old, 'package.json'), '{"allowScripts":{"node":true}}');
    await run(old, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', 'node@20');
    writeFileSync(
      join(app, 'built.js'),
      "import { AdReportExport } from 'ad-report-export';\nnew AdReportExport();\n",
    );
  }, 120_000);

  it.each([
    ['a synth of the app', ['npx', ...SYNTH]],
    ['a synth of an app that was compiled', ['npx', ...SYNTH, '--app', 'node built.js']],
    ['a command', ['npx', '--no-install', 'ad-report-export', 'status']],
  ])('%s says in one line which Node it needs', async (_, [command = '', ...args]) => {
    const PATH = `${join(folder, 'old/node_modules/node/bin')}:${process.env.PATH}`;
    const failed = await runWith({ PATH }, app, command, ...args).catch(({ stderr }) => String(stderr));
    expect(failed).toMatch(NEEDS);
    expect(failed).not.toMatch(/^ +at |ERR_/m);
  });
});

it('the construct takes a bucket, a key, a topic and a VPC of the app, and makes none', () => {
  const made = Object.values(templateIn(join(app, 'check.out'), 'platform').Resources);
  const functions = made.filter(({ Type }) => Type === 'AWS::Lambda::Function');
  expect(functions.filter(({ Properties }) => !Properties.VpcConfig)).toEqual([]);
  for (const type of ['AWS::S3::Bucket', 'AWS::KMS::Key', 'AWS::SNS::Topic', 'AWS::EC2::VPC'])
    expect(made.filter(({ Type }) => Type === type)).toHaveLength(1);
});

it('its template is that of the repository, byte for byte', async () => {
  const ours = join(folder, 'ours');
  await run(ROOT, 'npx', ...SYNTH, '--output', ours);
  const [built, repository] = [join(app, 'check.out'), ours].map((out) =>
    templateIn(out, 'ad-report-export'),
  );
  // Shows what differs, in a few lines.
  expect(built?.Resources).toEqual(repository?.Resources);
  expect(built?.text === repository?.text).toBe(true);
});

it.each([
  ['the app', 'my-ads'],
  ['a folder without a config', 'empty'],
])('its commands run the workflow in %s, and query the result', async (_, place) => {
  const command = (...args: string[]) =>
    run(join(folder, place), 'npx', '--no-install', 'ad-report-export', ...args);
  await command('start', '--speed', '1000');
  const sql = 'SELECT count(DISTINCT date) AS days FROM example';
  expect(await command('query', '--local', '--json', sql)).toContain('7');
});

it('the commands for a stack need a config, and say how to get one', async () => {
  await expect(
    run(join(folder, 'empty'), 'npx', '--no-install', 'ad-report-export', 'status'),
  ).rejects.toThrow(
    "cdk.json: it has no ad-report-export in its context; 'npx --no-install ad-report-export init DIR' writes",
  );
});

it('npx finds the command in the repository too, whose sources it runs', async () => {
  expect(await run(ROOT, 'npx', '--no-install', 'ad-report-export', '--help')).toContain('npm run export --');
});
