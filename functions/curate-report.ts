import { createHandler } from './aws/handler.ts';
import { READS } from './workflow/settings.ts';
import { SavedWindow } from './workflow/states.ts';

/** Passes the window on. */
export async function curateReport({ caught, ...state }: SavedWindow): Promise<SavedWindow> {
  return { ...state, status: 'curated', curated: {} };
}

export const handler = createHandler(READS.CurateReport, SavedWindow, curateReport, () => ({}));
