import { ADVERTISER_LISTS, FAILURE, MANIFEST, RUNS } from '../../../functions/workflow/keys.ts';
import { LEDGER, TABLES_PREFIX } from '../../../functions/workflow/table.ts';

/** What an object that is damaged takes with it, by the form of its key. The first form that fits counts. */
const LOST: readonly (readonly [isIt: (key: string) => boolean, lost: string])[] = [
  [
    (key) => key.endsWith(`/${MANIFEST}`),
    'Its days count as not delivered until they are exported again. Nothing more is lost if you remove it: the file beside it stays.',
  ],
  [(key) => key.endsWith(`/${FAILURE}`), 'It says why a run failed. Nothing else is lost if you remove it.'],
  [
    (key) => key.includes(`/${RUNS}`),
    'It says what a run was asked for. If you remove it, nothing asks for the days that this run did not deliver.',
  ],
  [
    (key) => key.includes(`/${ADVERTISER_LISTS}`),
    'It has the advertisers of the reports whose manifests name it. The next run writes its own list. If you remove this one, nothing tells which advertisers those reports are without.',
  ],
  [
    (key) => key.startsWith(`${TABLES_PREFIX}${LEDGER}/`) && key.endsWith('.closed.parquet'),
    'It has what a month showed when it was closed. If you remove it, that is lost, and close keeps what the month shows now.',
  ],
  [
    (key) => key.startsWith(`${TABLES_PREFIX}${LEDGER}/`),
    'It has what each report said about the days of a month. If you remove it, corrections and the dates since which the days are the same are lost. A rebuild writes only what the days show now.',
  ],
  [
    (key) => key.startsWith(TABLES_PREFIX),
    'It has the rows of the table. Run the command rebuild before you remove it: it names the days whose files were removed or replaced, which are lost then. After that, rebuild writes the other days again.',
  ],
];

/** One line: the object, and what is lost with it, for a person who may remove it. */
export function describeDamage(key: string): string {
  return `${key} cannot be read, or tells what cannot be true. ${adviseOnDamage(key)}`;
}

/** What is lost with a damaged object, and what to do. */
export function adviseOnDamage(key: string): string {
  const [, lost] = LOST.find(([isIt]) => isIt(key)) ?? [];
  return [lost ?? [], 'Restore an earlier version of it, if there is one.'].flat().join(' ');
}
