import { globSync } from 'node:fs';
import { EXPORTS_PREFIX } from '../../../functions/workflow/keys.ts';

/** Whether runs of this machine, of any export or of this one, have written into the folder. */
export function hasRuns(out: string, name?: string): boolean {
  if (name === undefined) return globSync(`*/${EXPORTS_PREFIX}`, { cwd: out }).length > 0;
  // Any other text cannot be a name, and could be a pattern.
  return /^[\w-]+$/.test(name) && globSync(`*/${EXPORTS_PREFIX}*/export=${name}/`, { cwd: out }).length > 0;
}
