import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Config, readConfig } from '../../infra/config.ts';
import { bundle } from '../../infra/constructs/bundle.ts';
import { fill, placeOf } from '../../infra/kept.ts';
import type { Synthesized } from '../../infra/local/run.ts';
import type { Synthesized as WholeStack } from '../../infra/synthesize.ts';

/** Stands in the template that is kept, and is replaced by each test's own platform. */
const PLACEHOLDER = 'https://platform.invalid';

/** All that the template is made of: the code's hashes are in it. */
const SOURCES = ['functions/**/*.ts', 'infra/*.ts', 'infra/constructs/*.ts', 'cdk.json', 'tsconfig.json'];

const KEPT = 'stack.json';

interface Kept {
  readonly template: unknown;
  /** What each function's bundle is called. */
  readonly code: Readonly<Record<string, string>>;
}

/** The stack with these settings, synthesized once for as long as no source changes: loading CDK takes a second. */
export async function synthesized(
  settings: Partial<Config> & Pick<Config, 'base_url' | 'accounts' | 'revision'>,
): Promise<Synthesized> {
  const { base_url, ...rest } = settings;
  const { download_hosts: _, ...configured } = readConfig();
  const config: Config = { ...configured, exports: [], ...rest, base_url: PLACEHOLDER };
  const place = placeOf(SOURCES, config);
  if (!existsSync(place)) {
    const { synthesize } = await import('../../infra/synthesize.ts');
    fill(place, (draft) => writeFileSync(join(draft, KEPT), JSON.stringify(keptOf(synthesize(config)))));
  }
  const { template, code }: Kept = JSON.parse(
    readFileSync(join(place, KEPT), 'utf8').replaceAll(PLACEHOLDER, base_url),
  );
  const bundles = bundle(Object.values(code));
  return { template, codeOf: (id) => join(bundles, code[id] ?? '') };
}

function keptOf({ template, codeOf }: WholeStack): Kept {
  const functions = Object.entries<{ Type: string }>(template.Resources).filter(
    ([, { Type }]) => Type === 'AWS::Lambda::Function',
  );
  return { template, code: Object.fromEntries(functions.map(([id]) => [id, basename(codeOf(id))])) };
}
