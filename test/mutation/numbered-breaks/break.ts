/** The smallest edit that breaks what handles a numbered fault, and the tests that are to notice. */
export interface Break {
  readonly number: number;
  /** What then goes wrong. */
  readonly broken: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The quickest that name the number. */
  readonly tests: readonly string[];
}
