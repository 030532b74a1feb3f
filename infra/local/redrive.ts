import type { Definition, State } from './definition.ts';
import type { HistoryEvent } from './history.ts';

/** An execution that goes on where it stopped. */
export interface Redrive {
  /** The execution's own, as at its first start. */
  readonly input: unknown;
  /** How often it was redriven, this time included. */
  readonly count: number;
  readonly definition: Definition;
}

/** Begins the names of states that only lead to where the execution stopped. */
const LEADS_ON = 'Redrive: ';

/** Whether a state is no part of the execution's history. */
export function isLead(state: string | undefined): boolean {
  return state?.startsWith(LEADS_ON) ?? false;
}

/**
 * What RedriveExecution does, as far as an interpreter that starts at StartAt can: the state that was not left is entered
 * again, with the input that it had. Windows of a Map that had ended keep their results, the others go on at their own
 * state; a Map within a window begins again as a whole, where AWS would keep the iterations that had ended.
 *
 * @param events the execution's history
 */
export function redrive(definition: Definition, events: readonly HistoryEvent[]): Redrive {
  const begun = events.find(({ type }) => type === 'ExecutionStarted');
  const stopped = events.findLastIndex(
    (event) => event.type === 'StateEntered' && event.window === undefined,
  );
  const { state: name = '', input } = events[stopped] ?? {};
  const state = definition.States[name];
  const isOver = events.some(({ type }) => type === 'ExecutionSucceeded');
  if (!begun || !state || isOver)
    throw new Error('The execution has stopped nowhere that it could go on from');
  const start = `${LEADS_ON}${name}`;
  const inMap = state.ItemProcessor ? goOnInMap(name, state, events.slice(stopped)) : state;
  const States = { ...definition.States, [name]: inMap, [start]: enter(input, name) };
  return {
    input: begun.input,
    count: events.filter(({ type }) => type === 'ExecutionRedriven').length + 1,
    definition: tellStart({ ...definition, StartAt: start, States }, begun.time),
  };
}

function enter(input: unknown, state: string): State {
  return { Type: 'Pass', Result: input, Next: state };
}

/** A Map whose iterations go on where each of them stopped. */
function goOnInMap(name: string, map: State, events: readonly HistoryEvent[]): State {
  const { ItemProcessor: processor = { StartAt: '', States: {} }, ItemSelector } = map;
  const windows = new Set(events.flatMap(({ window }) => window ?? []));
  const leads = [...windows].flatMap((window) => {
    const lead = leadOf(
      name,
      processor,
      events.filter((event) => event.window === window),
    );
    return lead ? [{ window, name: `${LEADS_ON}${window}`, lead }] : [];
  });
  const choose: State = {
    Type: 'Choice',
    Choices: leads.map((lead) => ({ Variable: '$.redrive', NumericEquals: lead.window, Next: lead.name })),
    Default: processor.StartAt,
  };
  const States = Object.fromEntries(leads.map((each) => [each.name, each.lead]));
  const StartAt = `${LEADS_ON}${name}, each`;
  return {
    ...map,
    ...(leads.length > 0 && {
      ItemSelector: { ...(ItemSelector as object), 'redrive.$': '$$.Map.Item.Index' },
      ItemProcessor: { ...processor, StartAt, States: { ...processor.States, ...States, [StartAt]: choose } },
    }),
  };
}

/** The way to where one iteration stopped, or to the result that it had; none where it had not begun. */
function leadOf(map: string, { States }: Definition, events: readonly HistoryEvent[]): State | undefined {
  const ended = events.findLast(({ type, state }) => type === 'MapIterationSucceeded' && state === map);
  if (ended) return { Type: 'Pass', Result: ended.output, End: true };
  const entered = events.findLast(({ type, state = '' }) => type === 'StateEntered' && state in States);
  return entered?.state === undefined ? undefined : enter(entered.input, entered.state);
}

/** The interpreter knows only when it began itself, where AWS tells when the execution first did. */
function tellStart(definition: Definition, startedAt: string): Definition {
  const text = JSON.stringify(definition);
  return JSON.parse(
    text.replaceAll(/"([^"]+)\.\$":"\$\$\.Execution\.StartTime"/g, (_, field) => `"${field}":"${startedAt}"`),
  );
}
