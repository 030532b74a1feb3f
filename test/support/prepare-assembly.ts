import { prepareAssembly } from '../../infra/lab/local/assembly/assembly.ts';
import { cacheCompiledCode } from '../../infra/stack/cache.ts';

/** Bundles the functions and synthesizes the stack once per test run. Workers find both in the cache. */
export default function setup(): void {
  cacheCompiledCode();
  prepareAssembly();
}
