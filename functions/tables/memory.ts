/** The memory of CurateReport's function by default, in MB. It brings a whole CPU. */
export const CURATE_MEMORY_MB = 1_769;

/**
 * DuckDB takes 150 MB beyond its limit, and the rest of the process up to 190 MB: together less than 512 MB.
 * More memory makes no report of 1 GB faster, because sorting one then writes to the disk anyway.
 */
const LEAST_LIMIT_MB = 150;

/** DuckDB holds 2,048 rows as lists of texts, several times: 200 columns of 20 characters take 300 MB. */
const MB_PER_COLUMN = 2;

/**
 * DuckDB's limit for a table of so many columns. A larger function gives DuckDB all that it has beyond the
 * default. Lambda sets the variable.
 */
export function memoryLimit(columns: number): string {
  const { AWS_LAMBDA_FUNCTION_MEMORY_SIZE: size = CURATE_MEMORY_MB } = process.env;
  const needed = Math.max(LEAST_LIMIT_MB, MB_PER_COLUMN * columns);
  return `${needed + Math.max(0, Number(size) - CURATE_MEMORY_MB)}MB`;
}
