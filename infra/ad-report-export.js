#!/usr/bin/env node
import './node-version.js';
import { existsSync } from 'node:fs';

// The repository runs its sources. The package has none.
const sources = existsSync(new URL('operate/cli/main.ts', import.meta.url));
await import(sources ? './operate/cli/main.ts' : '../dist/main.js');
