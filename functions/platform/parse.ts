import * as z from 'zod/mini';
import { unreadable } from './envelope.ts';
import type { Answer } from './request.ts';

/** The body of a success by its schema. Throws UnreadableAnswer, which names the fields and never quotes a value. */
export function parseAnswer<S extends z.core.$ZodType>(answer: Answer, schema: S): z.output<S> {
  const parsed = z.safeParse(schema, parseJson(answer));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'the body'}: ${message}`,
  );
  throw unreadable(answer, `a body that breaks the contract (${faults.join('; ')})`);
}

/** Throws UnreadableAnswer if the body is empty or no JSON. */
export function parseJson(answer: Answer, parse: (text: string) => unknown = JSON.parse): unknown {
  if (answer.text.trim() === '') throw unreadable(answer, 'an empty body');
  try {
    return parse(answer.text);
  } catch {
    throw unreadable(
      answer,
      `a body that is not JSON (content type ${answer.headers['content-type'] ?? 'absent'})`,
    );
  }
}
