// Sentences of findings that say only what a request named (SPEC §2.3 `provenance_data.reason`): the same with a
// vault of registered sources and without one. And what each finding means, for readers who have no request at hand.
import type { FindingCode } from "./vocabulary.ts";

export const FINDING_MEANINGS: Readonly<Record<FindingCode, string>> = {
  SOURCE_VERIFIED: "the cited sources are registered and active",
  SOURCE_UNKNOWN: "a cited source is not registered",
  SOURCE_DOUBTFUL: "a cited source is not registered, and its identifier is unusual",
  SOURCE_REVOKED: "a cited source was revoked",
  SOURCE_RETRACTED: "a cited source was retracted",
  CITATION_MISMATCH: "a cited document does not speak of what it is cited for",
  SOURCE_RECORDED_FALSE: "a cited source is recorded as false",
  SOURCE_MALFORMED: "the identifier of a cited source cannot exist",
  PROVENANCE_NOT_ASSESSED: "neither content nor sources were assessed",
  NO_SOURCES: "the content cites no sources",
  GROUNDING_NOT_EVALUATED: "no registered text could be compared with the content",
  SOURCE_NEWER: "a cited source was registered after the content was first seen",
  CITATION_DOUBTFUL: "a cited document may not speak of what it is cited for",
  CITATIONS_CHANGED: "the same content was sent before with other sources",
  UNSUPPORTED_CONTENT: "the cited sources do not support the content",
  MIXED_SCRIPTS: "words of the content mix scripts",
  HASH_MISMATCH: "the content does not match its digest",
  CONTENT_RECORDED_FALSE: "the content is recorded as false",
  CONTENT_RETRACTED: "the content was retracted",
  CONTENT_NEAR_RECORDED_FALSE: "the content is nearly the same as recorded false content",
  CONTENT_HALLUCINATED: "the content was found to be invented",
};

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
