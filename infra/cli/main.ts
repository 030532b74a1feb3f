import { keepCompiled } from '../kept.ts';

// Before anything large is loaded.
keepCompiled();
await import('./program.ts');
