import type { Sandbox } from '../../../infra/lab/sandbox/start-sandbox.ts';

/** The client of an account. */
export interface Client {
  readonly client_id: string;
  readonly client_secret: string;
}

/** The platform from which the rehearsed stack exports. */
export interface Platform {
  readonly baseUrl: string;
  readonly clientOf: (account: string) => Client;
  /** A sandbox in this process, which can be told to fail. Undefined if a stack serves the platform. */
  readonly sandbox: Sandbox | undefined;
}

/** Where a rehearsal takes place. Everything that differs between the emulator and AWS is here. */
export interface Target {
  /** The AWS account. It is left out of everything that is kept. */
  readonly account: string;
  readonly region: string;
  /** Alarms go off, and Step Functions can redrive. */
  readonly isComplete: boolean;
  /** What only this place shows, and the step by which it does. */
  readonly proved: readonly (readonly [what: string, step: string])[];
  /** Rows of a table: the parts that cannot be shown here, and why. */
  readonly notShown: readonly (readonly [what: string, why: string])[];
  /** The sandbox in this process; undefined if the stack of the sandbox serves the platform. */
  readonly platform: Platform | undefined;
  /** Words about this place and what runs it, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** The calls that IAM has refused so far, where nobody else says so. */
  readonly refusals: () => readonly string[];
  /** The stack that CDK needs, and its version. @returns what it has shown */
  readonly bootstrap: () => Promise<string>;
}
