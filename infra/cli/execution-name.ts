import type { ExportRequest } from '../../functions/workflow/request/request.ts';

/** What Step Functions allows. A name cannot be used again for 90 days, so it ends with the moment. */
const MAX_LENGTH = 80;

/** Export, range and moment: `daily-campaigns-20261001-20261101-20261121T041500123Z`. */
export function executionName(
  { name, start_date, end_date }: Pick<ExportRequest, 'name' | 'start_date' | 'end_date'>,
  now: Date,
): string {
  const rest = [start_date, end_date, now.toISOString()]
    .map((part) => part.replaceAll(/[-:.]/g, ''))
    .join('-');
  return `${name.slice(0, MAX_LENGTH - rest.length - 1)}-${rest}`;
}
