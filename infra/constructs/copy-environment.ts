/**
 * For the functions that copy files, so that they fit 256 MB with room: measured at 1 GB over TLS, the highest memory was
 * 119 MB with it, and 127 MB with a young generation of 2 MiB and malloc's own arenas, at the same speed. Once one of the
 * heap's sizes is set, Lambda sets no other; so both are.
 */
export const COPY_ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=128',
  MALLOC_ARENA_MAX: '1',
};
