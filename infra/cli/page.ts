import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { readPage } from '../page/read-page.ts';
import { renderPage } from '../page/render.ts';
import type { Folder } from './bucket.ts';
import { UsageError } from './errors.ts';
import { printLines } from './layout.ts';
import { examples, option } from './options.ts';

interface PageOptions extends Folder {
  readonly to?: string;
}

export function createPageCommand(): Command {
  return new Command('page')
    .option('--to <file>', "the file to write (default with --local: index.html in the runs' folder)")
    .option('--local', 'show the runs of this machine')
    .addOption(option.out())
    .addHelpText('after', examples('page --local', 'page --to exports.html'))
    .action(async (options: PageOptions) => printLines([describePage(await writePage(options))]));
}

/**
 * Writes one HTML file that shows what there is.
 *
 * @returns its path
 * @throws UsageError if it cannot be written, or if there is nothing to show
 */
export async function writePage({ to, ...folder }: PageOptions): Promise<string> {
  const file = to ?? (folder.local ? join(folder.out, 'index.html') : undefined);
  if (file === undefined) throw new UsageError(['give --to FILE, or --local']);
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
