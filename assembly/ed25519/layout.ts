// Where a caller finds what it gives to the curve module and what it gets.

/** 80 bytes: two numbers of 32 bytes, little-endian, each with 8 zero bytes behind. */
export const INPUT = 5120;
/** Signatures in one batch. */
export const RESULTS_MAX = 256;
/** Encoded results, 32 bytes each. */
export const OUTPUT = 49_152;
/** Where the first table may stand. */
export const TABLES = 229_376;
