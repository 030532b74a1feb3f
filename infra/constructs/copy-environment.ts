/**
 * Keeps the memory of a function that copies files low: about 120 MB over http, and 151 MB over TLS, which
 * gets parts whole. A young generation of 16 MiB takes 14 MB more and saves no CPU. Less than 2 GiB for the
 * old generation made V8 collect more often while bytes stream; the copy itself fills only 20 MB of it. Both
 * sizes are set, because Lambda sets neither once one of them is set.
 */
export const COPY_ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=2048',
  MALLOC_ARENA_MAX: '1',
};
