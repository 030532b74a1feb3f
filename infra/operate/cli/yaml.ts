import { stringify } from 'yaml';

/** Quotes what a reader of YAML 1.1, such as Python's, takes for another type: 12:00 is 720 there. */
export function toYaml(value: unknown): string {
  return stringify(value, { compat: 'yaml-1.1' });
}
