/**
 * Keeps the functions that copy files under 150 MB. A young generation of 1 MiB collects the chunks of a download soon.
 * An old generation of less than 2 GiB makes V8 collect 50 times more often while bytes stream, which doubles the CPU;
 * the copy itself fills only 20 MB of it. Both sizes are set, because Lambda sets neither once one of them is set.
 */
export const COPY_ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=2048',
  MALLOC_ARENA_MAX: '1',
};
