import { readFile, writeFile } from 'node:fs/promises';
import { readConfig } from './config.ts';
import { synthesize } from './synthesize.ts';
import { drawWorkflow, insertPicture } from './workflow-picture.ts';

/** `npm run picture`: draws the synthesized workflow into the README. A test fails while the two differ. */
const README = new URL('../README.md', import.meta.url);

const { definition } = synthesize(readConfig());
const readme = await readFile(README, 'utf8');
await writeFile(README, insertPicture(readme, drawWorkflow(definition)));
