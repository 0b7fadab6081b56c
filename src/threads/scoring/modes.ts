// Modes of scoring, and numbers of the readers of the shared memory. A file of its own, because every
// command reads the settings, and none of them needs the pool.

/** Place where verify is scored: always on the HTTP thread, always on the pool, or by body size. */
export const SCORING_MODES = ["auto", "inline", "pool"] as const;
export type ScoringMode = (typeof SCORING_MODES)[number];

/** First reader of the pool; the slots below belong to the writer and to HTTP threads. */
export const FIRST_POOL_READER_SLOT = 16;
/** Slot 0 is the writer's. */
export const HTTP_THREADS_MAX = FIRST_POOL_READER_SLOT - 1;
