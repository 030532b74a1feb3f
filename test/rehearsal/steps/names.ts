/** The steps that show what no emulator can, by what the result calls them. */
export const STEPS = {
  runSandbox: 'run and query, of the sandbox',
  look: 'status, missing, check, query, page',
  schedule: 'a schedule of two accounts, one without a credential',
  twice: 'the same run started twice',
  late: 'ready_by: late, by event, mail and chat',
  alarm: 'an alarm of the failed export',
  runbook: 'every call of the runbook with its policy alone',
  redrive: 'a redrive',
} as const;
