/** The options of `run`, as commander gives them. */
export interface RunOptions {
  readonly input?: string;
  readonly json?: true;
  readonly onlyMissing?: true;
  readonly local?: true;
  readonly baseUrl?: string;
  readonly credential?: string;
  readonly revision?: string;
  readonly out: string;
  readonly speed: number;
  readonly stateMachine?: string;
}
