// Sentences of findings that say only what a request named (SPEC §2.3 `provenance_data.reason`): the same with a
// vault of registered sources and without one.

export const NOT_ASSESSED_SENTENCE =
  "The request names neither content nor sources, so nothing was assessed.";
export const NO_SOURCES_SENTENCE =
  "The content cites no sources, so there was nothing to verify it against.";
/** Follows another sentence where only the hash was given: `source_verified` speaks of the sources. */
export const TEXT_NOT_CHECKED_SENTENCE =
  "The request has only the content_hash of the text; the text itself was not checked.";

/** Of `count` cited sources, 1 or more, none is registered. */
export function describeUnregisteredSources(count: number): string {
  return count === 1
    ? "The cited source is not registered as evidence."
    : `None of the ${count} cited sources is registered as evidence.`;
}
