// An older Node can load this file, but not the files that are imported below.
import '../../node-version.js';
import { setFlagsFromString } from 'node:v8';

// Keeps the young generation of this process and its threads at its initial 1 MiB. Otherwise a local run
// keeps tens of MB of used network chunks until they are collected.
setFlagsFromString('--semi-space-growth-factor=1');
// Lets a heap grow to four times its live objects before V8 collects all of it. The buffers of a copy count
// as part of the small heaps of a local run: without this, a file of 1 GB makes V8 collect the heaps 130
// times instead of 10, a quarter of the CPU of the run.
setFlagsFromString('--heap-growing-percent=300');
// The compile cache serves only modules that are loaded after it was enabled.
const { cacheCompiledCode } = await import('../../stack/cache.ts');
cacheCompiledCode();
const { continueWithoutOutput, runCommandLine } = await import('./program.ts');
continueWithoutOutput();
await runCommandLine();
