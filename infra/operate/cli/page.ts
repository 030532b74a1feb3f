import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { readPage } from '../days/page-contents.ts';
import { renderPage } from '../page/render.ts';
import type { Folder } from '../place/bucket.ts';
import { UsageError } from '../place/errors.ts';
import { printLines } from './layout.ts';
import { examples, option } from './options.ts';

export function createCommand(): Command {
  return new Command('page')
    .option('--to <file>', 'the file to write (default with --local: index.html in --out)')
    .option('--local', 'show the runs of this machine')
    .addOption(option.out())
    .addHelpText('after', examples('page --to exports.html', 'page --local'))
    .action(async ({ to, ...folder }: Folder & { readonly to?: string }) => {
      if (!folder.local && to === undefined)
        throw new UsageError(['the page of a stack needs --to FILE; this machine has one with --local']);
      printLines([await writePage(folder, to)]);
    });
}

/**
 * Writes one HTML file that shows what there is.
 *
 * @returns the line that names it
 * @throws UsageError if it cannot be written, or if there is nothing to show
 */
export async function writePage(folder: Folder, file = join(folder.out, 'index.html')): Promise<string> {
  const page = renderPage(await readPage(folder, new Date()));
  await writeFile(file, page).catch(({ code }: NodeJS.ErrnoException) => {
    throw new UsageError([`${file} cannot be written (${code})`]);
  });
  return `See it: ${file}`;
}
