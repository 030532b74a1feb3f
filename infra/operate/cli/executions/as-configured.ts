import { requestHash } from '../../../../functions/decisions/request-hash.ts';
import { isObject, type JsonObject } from '../../../../functions/workflow/json.ts';
import { parseRequest } from '../../../../functions/workflow/request/request.ts';
import { requestOf } from '../../../stack/config/exports.ts';
import { loadConfig } from '../../place/load-config.ts';
import { warn } from '../layout.ts';

/** Fields of a request that say which days it exports. */
const DAY_FIELDS = ['scheduled_at', 'period', 'start_date', 'end_date'];

/**
 * The request of the config that has the name and the account of an earlier one, for the days of the earlier
 * one. Warns if it has changed since. Without such a request in the config, the earlier one.
 */
export function asConfigured(earlier: JsonObject): JsonObject {
  const { exports, base_url: platform, revision } = loadConfig();
  const { only_missing, resumes, run, ...asked } = earlier;
  const entry = exports.find(({ name, account }) => name === asked.name && account === asked.account);
  if (!entry) return asked;
  const isOfDay = ([field]: [string, unknown]) => DAY_FIELDS.includes(field);
  const days = Object.entries(asked).filter(isOfDay);
  const fields = Object.entries(requestOf(entry)).filter((field) => !isOfDay(field));
  const request = Object.fromEntries([...fields, ...days]);
  const hashOf = (input: unknown) =>
    requestHash(parseRequest(input, new Date()).request, { platform, revision });
  if (isObject(request) && hashOf(request) !== hashOf(asked))
    warn(
      `the request of ${asked.account}/${asked.name} has changed since then, and is exported as it is now`,
    );
  return request;
}
