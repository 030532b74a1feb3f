import { Command } from 'commander';
import { DICTIONARY } from '../../functions/workflow/request/dictionary.ts';
import { catalogName } from '../../functions/workflow/table.ts';
import type { DocumentedTable } from '../catalog/table-words.ts';
import { loadConfig } from '../knowledge/config.ts';
import { documentTables } from '../knowledge/tables.ts';
import { alignColumns, printDocument, printLines } from './layout.ts';
import { type CommonOptions, option } from './options.ts';

export function createCommand(): Command {
  return new Command('fields').addOption(option.json()).action((options: Pick<CommonOptions, 'json'>) => {
    const tables = documentTables(loadConfig().exports);
    if (options.json) printDocument({ outcome: 'ok', ...DICTIONARY, tables });
    else printLines([...describeDictionary(), ...tables.flatMap(describeTable)]);
  });
}

function describeDictionary(): string[] {
  const { metrics, dimensions } = DICTIONARY;
  return [
    ...alignColumns([
      ['metric', 'unit', 'adds up', 'source', 'meaning'],
      ...metrics.map((one) => [one.name, one.unit, sayYes(one.adds_up), one.source, one.meaning]),
    ]),
    '',
    ...alignColumns([
      ['dimension', 'source', 'meaning'],
      ...dimensions.map(({ name, source, meaning }) => [name, source, meaning]),
    ]),
    '',
    'The platform decides about any other name. Sources: the contract, or names that are common elsewhere.',
  ];
}

function describeTable({ table, description, columns }: DocumentedTable): string[] {
  const rows = columns.map(({ name, type, unit = '', adds_up, meaning }) => {
    return [name, type, unit, adds_up === undefined ? '' : sayYes(adds_up), meaning];
  });
  return [
    '',
    `table ${catalogName(table)}`,
    description,
    ...alignColumns([['column', 'type', 'unit', 'adds up', 'meaning'], ...rows]),
  ];
}

function sayYes(is: boolean): string {
  return is ? 'yes' : 'no';
}
