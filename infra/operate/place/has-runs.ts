import { globSync } from 'node:fs';
import { EXPORTS_PREFIX } from '../../../functions/workflow/keys.ts';
import { UsageError } from './errors.ts';

/** Whether runs of this machine, of any export or of this one, have written into the folder. */
export function hasRuns(out: string, name?: string): boolean {
  if (name === undefined) return globSync(`*/${EXPORTS_PREFIX}`, { cwd: out }).length > 0;
  // Any other text cannot be a name, and could be a pattern.
  return /^[\w-]+$/.test(name) && globSync(`*/${EXPORTS_PREFIX}*/export=${name}/`, { cwd: out }).length > 0;
}

/** The fault of a folder in which no run has begun. */
export function createNoRunsError(out: string): UsageError {
  return new UsageError([`no run has begun in --out ${out}: repeat its command, or name another folder`]);
}
