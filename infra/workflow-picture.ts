/** Draws a state machine's definition (Amazon States Language) as a Mermaid flowchart. */

export interface Definition {
  readonly StartAt: string;
  readonly States: Readonly<Record<string, State>>;
}

interface State {
  readonly Type: string;
  readonly Next?: string;
  readonly Default?: string;
  readonly Choices?: readonly (Condition & { readonly Next: string })[];
  readonly Catch?: readonly { readonly ErrorEquals: readonly string[]; readonly Next: string }[];
  readonly ItemProcessor?: Definition;
  readonly ItemsPath?: string;
  readonly MaxConcurrencyPath?: string;
}

interface Condition {
  readonly Variable?: string;
  readonly StringEquals?: string;
  readonly IsPresent?: boolean;
  readonly And?: readonly Condition[];
}

/** An arrow; dotted ones are taken after a failure. */
interface Arrow {
  readonly to: string;
  readonly label?: string;
  readonly dotted?: true;
}

const BEGIN = '<!-- workflow -->';
const END = '<!-- /workflow -->';

/** The README with the picture between its markers. */
export function insertPicture(readme: string, picture: string): string {
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`The README has no ${BEGIN} … ${END}`);
  const block = `${BEGIN}\n\n\`\`\`mermaid\n${picture}\n\`\`\`\n\n`;
  return readme.slice(0, begin) + block + readme.slice(end);
}

/** The states in the order in which they run, a Map's within a box of their own. */
export function drawWorkflow(definition: Definition): string {
  const lines = ['start((start))', `start --> ${definition.StartAt}`, ...drawStates(definition)];
  return ['flowchart TD', ...lines.map((line) => `  ${line}`)].join('\n');
}

function drawStates(definition: Definition): string[] {
  return inOrder(definition).flatMap(([name, state]) => [
    ...drawNode(name, state),
    ...arrowsOf(state).map((arrow) => drawArrow(name, arrow)),
  ]);
}

/** Depth first; what is reached by failures alone comes last. */
function inOrder({ StartAt, States }: Definition): [string, State][] {
  const order = new Map<string, State>();
  const visit = (name: string, seen: Set<string>, failures: boolean) => {
    const state = States[name];
    if (!state || seen.has(name)) return;
    seen.add(name);
    order.set(name, state);
    for (const { to, dotted } of arrowsOf(state)) if (failures || !dotted) visit(to, seen, failures);
  };
  visit(StartAt, new Set(), false);
  visit(StartAt, new Set(), true);
  return [...order];
}

function arrowsOf({ Next, Default, Choices = [], Catch = [] }: State): Arrow[] {
  return [
    ...(Next ? [{ to: Next }] : []),
    ...Choices.map((choice) => ({ to: choice.Next, label: inWords(choice) })),
    ...(Default ? [{ to: Default, label: 'otherwise' }] : []),
    ...Catch.map((catcher, at) => ({
      to: catcher.Next,
      label: errorsInWords(catcher.ErrorEquals, at),
      dotted: true as const,
    })),
  ];
}

function drawNode(name: string, { Type, ItemProcessor, ItemsPath, MaxConcurrencyPath }: State): string[] {
  if (ItemProcessor) {
    const many = MaxConcurrencyPath
      ? `an execution for each of ${pathInWords(ItemsPath)}, ${pathInWords(MaxConcurrencyPath)} at a time`
      : `for each of ${pathInWords(ItemsPath)}, all at a time`;
    const each = `${name}: ${many}`;
    const inner = [
      `${name}-start(( ))`,
      `${name}-start --> ${ItemProcessor.StartAt}`,
      ...drawStates(ItemProcessor),
    ];
    return [`subgraph ${name}["${each}"]`, ...inner.map((line) => `  ${line}`), 'end'];
  }
  if (Type === 'Choice') return [`${name}{${name}}`];
  if (Type === 'Wait') return [`${name}[/${name}/]`];
  if (Type === 'Succeed' || Type === 'Fail') return [`${name}([${name}])`];
  return [`${name}[${name}]`];
}

function drawArrow(from: string, { to, label, dotted }: Arrow): string {
  const words = label === undefined ? '' : `|"${label}"|`;
  return `${from} ${dotted ? '-.->' : '-->'}${words} ${to}`;
}

/** @throws Error for an operator that no definition of ours has had yet, rather than draw half a condition */
function inWords(condition: Condition): string {
  const { Variable, StringEquals, IsPresent, And } = condition;
  // That a path is present only guards the comparison beside it.
  if (And)
    return And.filter((part) => part.IsPresent === undefined)
      .map(inWords)
      .join(' and ');
  if (StringEquals !== undefined) return `${pathInWords(Variable)} is ${StringEquals}`;
  if (IsPresent !== undefined) return `${pathInWords(Variable)} is ${IsPresent ? 'present' : 'absent'}`;
  throw new Error(`The picture has no words for ${JSON.stringify(condition)}`);
}

function pathInWords(path = ''): string {
  return path.replace(/^\$\./, '');
}

/** Catchers are tried in turn, so the last one's "all" is what the ones before it left. */
function errorsInWords(errors: readonly string[], before: number): string {
  if (!errors.includes('States.ALL')) return errors.join(', ');
  return before > 0 ? 'any other error' : 'any error';
}
