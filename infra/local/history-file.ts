import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ExecutionResult, HistoryEvent } from './history.ts';

/** What history.json holds of one execution; `events` have every state's input and output. */
export interface ExecutionHistory {
  readonly execution: string;
  /** Absent while it runs. */
  result?: ExecutionResult;
  readonly events: HistoryEvent[];
}

/** Executions whose history is kept; of hundreds of runs the last ones are looked at. */
const MAX_EXECUTIONS = 500;

export interface HistoryFile {
  readonly executions: readonly ExecutionHistory[];
  begin(execution: string): ExecutionHistory;
  /** Writes the file anew, as a whole. */
  save(): Promise<void>;
}

/** Between two savings: at least a second, and ten times as long as the last one took. Milliseconds. */
const SAVE_EVERY = 1_000;
const SAVE_SHARE = 10;

/** Saves a history every now and then until it is disposed of, so that a kill leaves what had happened by then. */
export function keepSaving(history: Pick<HistoryFile, 'save'>): AsyncDisposable {
  const ended = new AbortController();
  const keepOn = async () => {
    for (let pause = SAVE_EVERY; ; ) {
      await wait(pause, undefined, { signal: ended.signal });
      const before = performance.now();
      await history.save();
      pause = Math.max(SAVE_EVERY, SAVE_SHARE * (performance.now() - before));
    }
  };
  // It ends by being aborted; what else went wrong, the last saving runs into as well.
  const saving = keepOn().catch(() => {});
  return {
    async [Symbol.asyncDispose]() {
      ended.abort();
      await saving;
    },
  };
}

/** The histories of a run, kept in memory and written to `history.json` of a directory. */
export function openHistory(directory: string): HistoryFile {
  const executions: ExecutionHistory[] = [];
  return {
    executions,
    begin(execution) {
      const history: ExecutionHistory = { execution, events: [] };
      executions.push(history);
      if (executions.length > MAX_EXECUTIONS) executions.shift();
      return history;
    },
    async save() {
      const draft = join(directory, `.history.${randomUUID()}.json`);
      await mkdir(directory, { recursive: true });
      try {
        await writeFile(draft, `${JSON.stringify({ executions }, undefined, 2)}\n`);
        await rename(draft, join(directory, 'history.json'));
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },
  };
}
