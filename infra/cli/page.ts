import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import type { Folder } from '../knowledge/bucket.ts';
import { UsageError } from '../knowledge/errors.ts';
import { readPage } from '../knowledge/page-contents.ts';
import { renderPage } from '../page/render.ts';
import { printLines } from './layout.ts';
import { examples } from './options.ts';

interface PageOptions {
  readonly to?: string;
  readonly out: string;
  readonly deployed?: true;
  readonly stack?: string;
  readonly region?: string;
}

export function createCommand(): Command {
  return new Command('page')
    .addOption(new Option('--out <dir>', 'the folder of the local runs').default('out').conflicts('deployed'))
    .option('--local', 'show the runs of this machine, as without any option')
    .addOption(new Option('--deployed', 'show the deployed stack').conflicts('local'))
    .option('--to <file>', "the file to write (default: index.html in the runs' folder)")
    .addHelpText('after', examples('page', 'page --deployed --to exports.html'))
    .action(async ({ to, out, ...options }: PageOptions) => {
      const { deployed, stack, region } = options;
      const isDeployed = deployed ?? (stack !== undefined || region !== undefined);
      if (isDeployed && to === undefined) throw new UsageError(['the page of a stack needs --to FILE']);
      const folder: Folder = isDeployed ? { out } : { local: true, out };
      printLines([describePage(await writePage(folder, to))]);
    });
}

/**
 * Writes one HTML file that shows what there is.
 *
 * @returns its path
 * @throws UsageError if it cannot be written, or if there is nothing to show
 */
export async function writePage(folder: Folder, file = join(folder.out, 'index.html')): Promise<string> {
  const page = renderPage(await readPage(folder, new Date()));
  // A browser that reloads never sees half a page.
  const draft = `${file}.${process.pid}.draft`;
  try {
    await writeFile(draft, page);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw new UsageError([`${file} cannot be written (${(error as NodeJS.ErrnoException).code})`]);
  }
  return file;
}

/** The line that names the page. */
export function describePage(file: string): string {
  return `See it: ${file}`;
}
