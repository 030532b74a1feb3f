import { chooseMissing } from '../../../functions/days/begin-run.ts';
import { requestHash } from '../../../functions/decisions/request-hash.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { tableOf } from '../../../functions/workflow/table.ts';
import { tablesOf, withColumns } from '../../stack/config/exports.ts';
import { type Folder, openToRead } from '../place/bucket.ts';
import { loadConfig } from '../place/load-config.ts';
import { readTarget } from '../place/target-platform.ts';

/**
 * The windows that a run with `only_missing` would export, judged as PlanExport does.
 *
 * @param input of the request
 * @throws AccessRefused, ServiceUnavailable
 */
export async function chooseMissingWindows(
  request: ExportRequest,
  input: unknown,
  folder: Folder,
  now: Date,
) {
  const config = loadConfig();
  const target = await readTarget(folder);
  await using store = await openToRead(folder, true);
  const isTable = config.tables && tableOf(request) !== undefined;
  const [schema] = isTable ? tablesOf([withColumns(Object(input), config.exports)], target, config) : [];
  return chooseMissing({ request, hash: requestHash(request, target), schema }, store, now);
}
