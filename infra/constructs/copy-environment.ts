/**
 * Keeps the functions that copy files well within 256 MB. A copy of 1 GB over TLS peaked at 119 MB with these settings, and
 * at 127 MB with a young generation of 2 MiB and malloc's default arenas, at the same speed. Both heap sizes are set because
 * Lambda sets neither once one is set.
 */
export const COPY_ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=128',
  MALLOC_ARENA_MAX: '1',
};
