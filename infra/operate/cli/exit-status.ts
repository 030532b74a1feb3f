/** Exit statuses of every command. */
export const DELIVERED = 0;
export const FAILED = 1;
export const BAD_USAGE = 2;
/** With --strict: delivered, but the table did not take a file. */
export const NOT_IN_TABLE = 3;
/** The status that a shell reports for a process that Ctrl-C ended. */
export const INTERRUPTED = 130;
