import type { WindowState } from '../workflow/states.ts';
import type { Common } from '../workflow/step.ts';
import { MIN_WAIT } from './waits.ts';

/**
 * Makes a step that GETs a report wait 10 s first if its execution was redriven (contract 4.4). A redrive
 * starts a stopped state again at once, with the input that it had. That input cannot tell whether the
 * stopped call sent its GET. (Stopping an execution does not end a running function, so a slow call may still
 * send a GET after the redrive.)
 *
 * A window is a Standard child execution of a Distributed Map. AWS documents that a redrive of the export
 * redrives the windows that did not finish, and that RedriveTime is in the context object of such a child. So
 * we take `$$.Execution.RedriveCount` to be the window's own. If it were the export's, it would rise too, and
 * a window that starts only after the redrive would wait once for nothing.
 */
export function waitAfterRedrive<S extends WindowState, D, O>(
  step: (state: S, dependencies: D) => Promise<O>,
): (state: S, dependencies: D & Pick<Common, 'redriveCount' | 'log'>) => Promise<O | S> {
  return async (state, dependencies) => {
    const { redriveCount, log } = dependencies;
    if (redriveCount <= (state.redrive_count ?? 0)) return step(state, dependencies);
    log.info('the execution was redriven; waiting before the next GET', { redrive_count: redriveCount });
    return { ...state, wait_seconds: MIN_WAIT, redrive_count: redriveCount };
  };
}
