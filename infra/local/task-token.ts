import { randomUUID } from 'node:crypto';

/** Begins every token, so that one is known by sight wherever it should not be. */
export const TOKEN = 'local-task-token-';

/** Gives each try of a task its token, in the place of the mark that its parameters have. */
export interface TaskTokens {
  readonly mark: string;
  put(input: unknown): { readonly token: string; readonly input: unknown };
}

/** The interpreter has no `$$.Task.Token`, and one context for all tries of an execution: that holds a mark. */
export function openTaskTokens(): TaskTokens {
  const mark = `${TOKEN}${randomUUID()}`;
  return {
    mark,
    put(input) {
      const token = `${TOKEN}${randomUUID()}`;
      const json = JSON.stringify(input) ?? '';
      return { token, input: json.includes(mark) ? JSON.parse(json.replaceAll(mark, token)) : input };
    },
  };
}
