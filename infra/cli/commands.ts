import type { Command } from 'commander';

/** Only the command that runs is loaded: each AWS SDK client takes tens of milliseconds. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import('./run.ts')).createRunCommand(),
  missing: async () => (await import('./missing.ts')).createMissingCommand(),
  plan: async () => (await import('./plan.ts')).createPlanCommand(),
  resume: async () => (await import('./resume.ts')).createResumeCommand(),
  curate: async () => (await import('./curate/curate.ts')).createCurateCommand(),
  query: async () => (await import('./query/query.ts')).createQueryCommand(),
  status: async () => (await import('./status.ts')).createStatusCommand(),
  list: async () => (await import('./list.ts')).createListCommand(),
  stop: async () => (await import('./stop.ts')).createStopCommand(),
  explain: async () => (await import('./explain.ts')).createExplainCommand(),
  login: async () => (await import('./login/login.ts')).createLoginCommand(),
  doctor: async () => (await import('./doctor/doctor.ts')).createDoctorCommand(),
  secret: async () => (await import('./secret.ts')).createSecretCommand(),
  sandbox: async () => (await import('./sandbox.ts')).createSandboxCommand(),
  completion: async () => (await import('./completion.ts')).createCompletionCommand(loadAll),
};

export function loadAll(): Promise<Command[]> {
  return Promise.all(Object.values(COMMANDS).map((create) => create()));
}
