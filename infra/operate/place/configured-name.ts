import { differencesOf } from '../../../functions/decisions/request-hash.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { requestOf } from '../../stack/config/exports.ts';
import { targetOfConfig } from '../../stack/config/sandbox-config.ts';
import { checkRequest } from './check-request.ts';
import { configName, loadConfig } from './load-config.ts';

/**
 * A name is one request: PlanExport refuses another one under the name of a table. The config knows both
 * requests, so it names everything in which they differ, also of an export without a table.
 */
export function configuredNameFaults(requests: readonly ExportRequest[], now: Date): string[] {
  const config = loadConfig();
  const target = targetOfConfig(config);
  return requests.flatMap((request) => {
    const { account, name } = request;
    const entry = config.exports.find((id) => id.account === account && id.name === name);
    if (!entry) return [];
    const differences = differencesOf(request, checkRequest(requestOf(entry), now).request, target);
    if (differences.length === 0) return [];
    return [
      `name: account ${account} has another request under the name ${name} in ${configName()}; it differs in ${differences.join(', ')}. Give this one another name`,
    ];
  });
}
