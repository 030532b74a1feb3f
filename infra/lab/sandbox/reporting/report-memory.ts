import { randomBytes, randomUUID } from 'node:crypto';
import type { Call } from '../exchange.ts';
import type { Report, Reports } from '../platform-state.ts';
import type { SandboxOptions } from '../sandbox-options.ts';
import { createReportFile, type ReportFile } from './create-report-file.ts';
import { DAY_SECONDS, extensionOf, SECONDS_TO_READY } from './reports.ts';

export type ReportInMemory = Report & {
  /** 1 for the first report that this sandbox created. */
  ordinal: number;
  file: ReportFile;
  /** Counts the replacements of the file by the fault `changed`. */
  version: number;
};

export interface ReportMemory extends Reports {
  /** The storage host's address. */
  storageUrl: string;
  /** When each download_url expires, by its path and query. */
  readonly downloadUrls: Map<string, number>;
  get(id: string): ReportInMemory | undefined;
  /** In order of creation. */
  all(): ReportInMemory[];
}

/**
 * The reports of this process. Their files are computed when they are read.
 *
 * @param journal tells when a report was polled
 */
export function createReportMemory(
  options: Pick<SandboxOptions, 'report' | 'storageUrl'>,
  now: () => number,
  journal: readonly Call[],
): ReportMemory {
  const reports = new Map<string, ReportInMemory>();
  const memory: ReportMemory = {
    storageUrl: '',
    downloadUrls: new Map(),
    get: (id) => reports.get(id),
    all: () => [...reports.values()],
    async create({ account, request }) {
      const { report: settings = {} } = options;
      const { secondsToReady = SECONDS_TO_READY } = settings;
      const id = randomUUID();
      const ordinal = reports.size + 1;
      const createdAt = now();
      const untilReady = typeof secondsToReady === 'number' ? secondsToReady : secondsToReady(ordinal);
      const readyAt = createdAt + 1000 * untilReady;
      const file = createReportFile(request, createdAt, settings);
      const report = { id, ordinal, account, request, createdAt, readyAt, file, version: 0 };
      reports.set(id, report);
      return report;
    },
    find: async (id) => reports.get(id),
    previousPoll(call) {
      const before = journal.slice(0, journal.lastIndexOf(call));
      const { endpoint, reportId } = call;
      return before.findLast((earlier) => earlier.endpoint === endpoint && earlier.reportId === reportId)?.at;
    },
    async createDownloadUrl({ id, request }) {
      const signature = `sbx_sig_${randomBytes(24).toString('base64url')}`;
      const path = `/reports/${id}.${extensionOf(request)}?signature=${signature}`;
      memory.downloadUrls.set(path, now() + 1000 * (options.report?.urlSeconds ?? DAY_SECONDS));
      return memory.storageUrl + path;
    },
  };
  return memory;
}
