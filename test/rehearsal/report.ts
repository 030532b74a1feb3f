import { type BillLine, totalOf } from './bill.ts';

interface Step {
  readonly name: string;
  readonly seconds: number;
  readonly shown: string;
}

type Pair = readonly [what: string, why: string];

export type Report = ReturnType<typeof createReport>;

/** Prints what the rehearsal shows, and keeps it. */
export function createReport(refusals: () => readonly string[], print: (line: string) => void = console.log) {
  const began = performance.now();
  const steps: Step[] = [];
  const leftOut: Pair[] = [];
  let bill: readonly BillLine[] = [];
  const since = (start: number) => (performance.now() - start) / 1000;
  return {
    /** @param work returns what it has shown. @throws Error if it fails, or IAM refuses a call */
    async step(name: string, work: () => Promise<string>): Promise<void> {
      const start = performance.now();
      const shown = await work();
      const refused = refusals();
      if (refused.length > 0) throw new Error(`IAM refused, in "${name}":\n${refused.join('\n')}`);
      steps.push({ name, seconds: since(start), shown });
      print(`${since(start).toFixed(0).padStart(4)} s  ${name}: ${shown}`);
    },
    /** Notes a part that cannot be shown here. */
    leaveOut(what: string, why: string): void {
      leftOut.push([what, why]);
      print(`        ${what} is left out: ${why}`);
    },
    charge(lines: readonly BillLine[]): void {
      bill = lines;
    },
    contents: () => ({ steps, leftOut, bill, seconds: since(began) }),
  };
}

interface Result extends ReturnType<Report['contents']> {
  readonly command: string;
  /** What only this place shows, and by which step. */
  readonly proved: readonly Pair[];
  readonly notShown: readonly Pair[];
  /** What took part, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

/** The text of RESULT.md. @throws Error if a step was left out that should have shown something */
export function renderResult(result: Result): string {
  const { steps, leftOut, bill, seconds, command, proved, notShown, versions } = result;
  const lacking = proved.filter(([, by]) => !steps.some(({ name }) => name === by));
  if (lacking.length > 0) throw new Error(`No step has shown ${lacking.map(([what]) => what).join(', ')}.`);
  const cents = (dollars: number) => (dollars * 100).toFixed(2);
  const rowsOf = (pairs: readonly Pair[]) => pairs.map(([what, why]) => `| ${what} | ${why} |`);
  return `${[
    '# The last rehearsal\n',
    `\`${command}\` wrote this file after all of its steps had succeeded. IAM had refused no call.`,
    '[The rehearsal](../README.md#the-rehearsal) says what that means.\n',
    ...Object.entries(versions).map(([name, version]) => `- ${name}: ${version}`),
    '\n| step | seconds | shown |\n|---|---|---|',
    ...steps.map((step) => `| ${step.name} | ${step.seconds.toFixed(0)} | ${step.shown} |`),
    `| all | ${seconds.toFixed(0)} | |\n`,
    ...(proved.length > 0 ? ['| no emulator shows | the step that does |\n|---|---|'] : []),
    ...rowsOf(proved),
    ...(proved.length > 0 ? [''] : []),
    'What this costs in AWS by list prices, from what was counted:\n',
    '| what | how much | cents |\n|---|---|---|',
    ...bill.map(({ what, amount, dollars }) => `| ${what} | ${amount} | ${cents(dollars)} |`),
    `| all | | ${cents(totalOf(bill))} |\n`,
    '| not shown | why |\n|---|---|',
    ...rowsOf([...leftOut, ...notShown]),
  ].join('\n')}\n`;
}

/** What must not be in a file that is kept. */
export interface Secret {
  readonly account: string;
  readonly stack: string;
}

/**
 * Leaves out what names the AWS account: its number, also in an ARN, and the names of what was in it.
 *
 * @throws Error if a word of the text could still be the number of an AWS account
 */
export function redact(text: string, { account, stack }: Secret): string {
  const redacted = text.replaceAll(account, 'ACCOUNT').replaceAll(stack, 'STACK');
  const [number] = /(?<!\d)\d{12}(?!\d)/.exec(redacted) ?? [];
  if (number === undefined) return redacted;
  throw new Error('The result has another number of 12 digits, which could be of an AWS account.');
}
