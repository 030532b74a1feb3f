import { InvalidInput } from '../../functions/workflow/errors.ts';
import { type ParsedRequest, parseRequest } from '../../functions/workflow/request/request.ts';

/** The moment of every request. */
const NOW = new Date('2026-11-21T06:00:00Z');

export const ADVERTISER = '7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e';

/** What an execution's input comes to, as it is after JSON. */
export function parsed(input: unknown): ParsedRequest {
  return parseRequest(JSON.parse(JSON.stringify(input)), NOW);
}

/** The faults that are named of an input; none where it is taken. */
export function faultsOf(input: unknown): readonly string[] {
  try {
    parsed(input);
  } catch (error) {
    if (error instanceof InvalidInput) return error.facts.faults as string[];
    throw error;
  }
  return [];
}
