import { cacheCompiledCode } from '../../infra/cache.ts';
import { prepareAssembly } from '../../infra/local/assembly/assembly.ts';

/** Bundles the functions and synthesizes the stack once per test run. Workers find both in the cache. */
export default function setup(): void {
  cacheCompiledCode();
  prepareAssembly();
}
