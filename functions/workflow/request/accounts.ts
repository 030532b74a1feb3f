import * as z from 'zod/mini';
import { InvalidInput } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import { nameFaults, wordIssue } from './issues.ts';
import { type ParsedRequest, parseRequest } from './request.ts';

/** Accounts that export at the same time, unless the config says otherwise. */
export const DEFAULT_ACCOUNTS = 10;

/** Accounts that may export at the same time: what AWS lets an inline Map do. */
export const MAX_ACCOUNTS = 40;

/**
 * Bytes of the facts of one input's accounts. The state of an export adds 150 bytes for each of up to 250
 * accounts and 30,000 of the request; the state of a check adds their missing days. Both hold up to 256 KB.
 * No state can catch that it is too large.
 */
export const MAX_FACTS_BYTES = 60_000;

/** Fields of a request that depend on its account. */
const FACTS = ['account', 'time_zone', 'advertiser_ids'];

/** The input of an export of accounts: a request without the fields that each of them has. */
export const AccountsInput = z.looseObject({
  accounts: z.array(z.looseObject({ account: z.string() })).check(z.minLength(1, 'must not be empty')),
  max_accounts: z._default(z.int().check(z.minimum(1), z.maximum(MAX_ACCOUNTS)), DEFAULT_ACCOUNTS),
});

export function isOfAccounts(input: unknown): input is JsonObject {
  return isObject(input) && input.accounts !== undefined;
}

/** Joins requests that differ in the facts of their accounts only. */
export function joinRequests(requests: readonly JsonObject[], max_accounts: number): JsonObject {
  return { ...withoutFacts(requests[0] ?? {}), accounts: requests.map(factsOf), max_accounts };
}

/** The fields of a request that its account has. */
export function factsOf(request: JsonObject): JsonObject {
  return pick(request, (field) => FACTS.includes(field));
}

/** The fields that a request shares with the requests of other accounts. */
export function withoutFacts(request: JsonObject): JsonObject {
  return pick(request, (field) => !FACTS.includes(field));
}

function pick(request: JsonObject, isWanted: (field: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(request).filter(([field]) => isWanted(field)));
}

/** @returns the request of each account, not checked; any other input is a request itself */
export function requestsIn(input: unknown): unknown[] {
  if (!isOfAccounts(input) || !Array.isArray(input.accounts)) return [input];
  const { accounts, max_accounts, ...request } = input;
  // In this order, as the state machine joins them: a field of the request replaces the account's.
  return accounts.map((facts) => ({ ...facts, ...request }));
}

/**
 * Checks the request of each account, or the only one.
 *
 * @throws InvalidInput with every fault of every account; a fault of all accounts is named once
 */
export function parseRequests(input: unknown, now: Date): ParsedRequest[] {
  if (!isOfAccounts(input)) return [parseRequest(input, now)];
  const { error } = AccountsInput.safeParse(input, { error: wordIssue });
  if (error) throw faulty(error.issues.flatMap((issue) => nameFaults(issue, 'the request', '', [])));
  const requests = requestsIn(input) as JsonObject[];
  const places = new Map<string, string[]>();
  const parsed = requests.flatMap((request) => {
    try {
      return [parseRequest(request, now)];
    } catch (thrown) {
      if (!(thrown instanceof InvalidInput)) throw thrown;
      for (const fault of thrown.facts.faults as readonly string[])
        places.set(fault, [...(places.get(fault) ?? []), String(request.account)]);
      return [];
    }
  });
  const names = requests.map(({ account }) => account);
  const repeated = new Set(names.filter((name, at) => names.indexOf(name) < at));
  const faults = [
    ...[...places].map(([fault, accountNames]) =>
      accountNames.length < requests.length ? `${fault} (account ${accountNames.join(', ')})` : fault,
    ),
    ...[...repeated].map((name) => `accounts: must not repeat ${name}`),
    ...factsSizeFaults(requests),
  ];
  if (faults.length > 0) throw faulty(faults);
  return parsed;
}

/** A schedule starts an execution for each part of its accounts. One execution cannot start further parts. */
function factsSizeFaults(requests: readonly JsonObject[]): string[] {
  const bytes = requests.reduce(
    (sum, request) => sum + Buffer.byteLength(JSON.stringify(factsOf(request))),
    0,
  );
  if (bytes <= MAX_FACTS_BYTES) return [];
  const share = Math.max(1, Math.floor((requests.length * MAX_FACTS_BYTES) / bytes));
  return [
    `accounts: have ${bytes} bytes, more than the ${MAX_FACTS_BYTES} that one execution can carry; ` +
      `export about ${share} of the ${requests.length} accounts at a time, with --input, or one with --account`,
  ];
}

function faulty(faults: readonly string[]): InvalidInput {
  return new InvalidInput('The request has faults, and nothing was exported.', { faults });
}
