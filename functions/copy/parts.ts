/**
 * The size of a part. S3 takes 5 MiB and more; larger parts than these gained no speed. The copy holds two
 * of them in memory.
 */
export const PART_BYTES = 8 * 1024 * 1024;

/** S3 accepts 10,000 parts, and a part has 8 MiB: 78 GiB. */
export const LARGEST_OBJECT_BYTES = 10_000 * PART_BYTES;
