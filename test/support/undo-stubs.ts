import { vi } from 'vitest';

// Vitest's own options leave the stubs of a file's last test until the first test of the next file.
vi.useRealTimers();
vi.restoreAllMocks();
vi.unstubAllEnvs();
vi.unstubAllGlobals();
