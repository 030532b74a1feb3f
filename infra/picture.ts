import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from './config.ts';
import { synthesize } from './synthesize.ts';
import { drawWorkflow, insertPicture } from './workflow-picture.ts';

/** `npm run picture`: draws the synthesized workflow into the README. A test fails while the two differ. */
const README = new URL('../README.md', import.meta.url);

const outdir = await mkdtemp(join(tmpdir(), 'ad-report-export-'));
try {
  const { definition } = synthesize({ config: readConfig(), outdir });
  const readme = await readFile(README, 'utf8');
  await writeFile(README, insertPicture(readme, drawWorkflow(definition)));
} finally {
  await rm(outdir, { recursive: true });
}
