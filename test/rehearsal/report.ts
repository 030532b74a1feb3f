import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const RESULT = fileURLToPath(new URL('RESULT.md', import.meta.url));

/** The parts that no emulator can show, or this one does not, and why. */
const NOT_SHOWN = `| the roles of state machines and schedules | the emulator acts for them without IAM |
| the permissions of commands | they run as the root user of the AWS account |
| logs, their permissions and retention; metrics; traces | nothing here reads them |
| alarms, the dead-letter queue | the emulator keeps alarms without evaluating them, and repeats no start |
| arm64; memory, storage, time and concurrency of functions | they are processes of this machine |
| keys of KMS, Lake Formation, VPC endpoints | the emulator evaluates no policy of theirs |
| quotas, the lifecycle of objects | the emulator has neither |
| the SQL and speed of Athena | DuckDB runs the queries |
| that a stop ends the windows too | the emulator lets them run on |
| the names in the platform's certificates | its hosts are this machine, with a certificate for localhost |`;

/** Prints what the rehearsal shows, and keeps it for RESULT.md. */
export function createReport() {
  const began = performance.now();
  const steps: string[] = [];
  const leftOut: string[] = [];
  const since = (start: number) => ((performance.now() - start) / 1000).toFixed(0);
  return {
    refusals: (): readonly string[] => [],
    /** @param work returns what it has shown. @throws Error if it fails, or IAM refuses a call */
    async step(name: string, work: () => Promise<string>): Promise<void> {
      const start = performance.now();
      const shown = await work();
      const refused = this.refusals();
      if (refused.length > 0) throw new Error(`IAM refused, in "${name}":\n${refused.join('\n')}`);
      steps.push(`| ${name} | ${since(start)} | ${shown} |`);
      console.log(`${since(start).padStart(4)} s  ${name}: ${shown}`);
    },
    /** Notes a part that cannot be shown here. */
    leaveOut(what: string, why: string): void {
      leftOut.push(`| ${what} | ${why} |`);
      console.log(`        ${what} is left out: ${why}`);
    },
    /** Writes RESULT.md. @param versions of what took part, by name */
    write(versions: Readonly<Record<string, string>>): void {
      const notShown = ['| not shown | why |', '|---|---|', ...leftOut, NOT_SHOWN].join('\n');
      const lines = [
        '# The last rehearsal\n',
        '`npm run rehearse` wrote this file after all of its steps had succeeded. IAM had refused no call.',
        '[The rehearsal](../README.md#the-rehearsal) says what that means.\n',
        ...Object.entries(versions).map(([name, version]) => `- ${name}: ${version}`),
        '\n| step | seconds | shown |\n|---|---|---|',
        ...steps,
        `| all | ${since(began)} | |\n`,
        notShown,
      ];
      writeFileSync(RESULT, `${lines.join('\n')}\n`);
      console.log(`\n${notShown}\n\nRehearsed in ${since(began)} s, and wrote ${RESULT}`);
    },
  };
}
