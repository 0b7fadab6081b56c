// Findings of an assessment: the shape for the bureau's provenance port, and the constant findings.
import {
  describeUnregisteredSources,
  NO_SOURCES_SENTENCE,
  NOT_ASSESSED_SENTENCE,
  TEXT_NOT_CHECKED_SENTENCE,
} from "../../contract/finding-sentences.ts";
import { CITED_SOURCES_MAX } from "../../contract/limits.ts";
import type { VerifyResponse } from "../../contract/schemas/scores.ts";
import type { FindingCode, SourceStatus } from "../../contract/vocabulary.ts";

export interface VaultFinding {
  readonly data: VerifyResponse["provenance_data"];
  /** Code for `reason_codes`; empty when there is no objection to the content. */
  readonly reasonCode: FindingCode | "";
  /** Broken evidence: the code that becomes `log_reason`, or empty. */
  readonly hardFailureCode: FindingCode | "";
  /** Name for the policy of a doubt that asks for CHALLENGE at L2 and L3, or empty. */
  readonly softFailureCode: FindingCode | "";
  /** Amount by which a finding lowers the score, 0 to 1; 1 for every hard failure. */
  readonly penalty: number;
}

/** Codes that are hard failures elsewhere: the policy knows the doubt by another name. */
const DOUBT_CODE_BY_CODE: Partial<Record<FindingCode | "", FindingCode>> = {
  CITATION_MISMATCH: "CITATION_DOUBTFUL",
};

interface FindingParts {
  code: FindingCode | "";
  reason: string;
  isHard: boolean;
  isDoubtful: boolean;
  isHallucinated: boolean;
  isVerified?: boolean;
  penalty?: number;
  sources?: { id: string; status: SourceStatus }[];
}

const QUOTE_LENGTH_MAX = 64;

/** Says in a finding that the text itself was not checked. */
export function appendUnseenText({ data }: VaultFinding): void {
  data.reason += ` ${TEXT_NOT_CHECKED_SENTENCE}`;
}

/** A piece of the caller's own text for a reason: one line, cut, in backticks. */
export function quoteCallerText(text: string): string {
  const line = text.replaceAll(/[\p{C}`]+/gu, " ").trim();
  const cut = line.length > QUOTE_LENGTH_MAX ? `${line.slice(0, QUOTE_LENGTH_MAX)}…` : line;
  return `\`${cut.toWellFormed()}\``;
}

/** A finding from its parts. */
export function buildFinding(parts: FindingParts): VaultFinding {
  const { code, reason, isHard, isDoubtful, isHallucinated, isVerified, sources } = parts;
  const data: VerifyResponse["provenance_data"] = {
    is_hallucinated: isHallucinated,
    source_verified: isVerified === true,
    reason,
  };
  if (sources !== undefined) data.sources = sources;
  return {
    data,
    reasonCode: code,
    hardFailureCode: isHard ? code : "",
    softFailureCode: isDoubtful && !isHard ? (DOUBT_CODE_BY_CODE[code] ?? code) : "",
    // A certain finding weighs at least as much as any doubt.
    penalty: isHard ? 1 : (parts.penalty ?? 0),
  };
}

function createConstantFinding(
  code: FindingCode,
  reason: string,
  kind: "open" | "soft" | "hard",
  isFalse = false,
) {
  const isHard = kind === "hard";
  const isDoubtful = kind !== "open";
  const made = buildFinding({ code, reason, isHard, isDoubtful, isHallucinated: isFalse });
  Object.freeze(made.data);
  return Object.freeze(made);
}

export const CONSTANT_FINDINGS = {
  notAssessed: createConstantFinding("PROVENANCE_NOT_ASSESSED", NOT_ASSESSED_SENTENCE, "open"),
  noSources: createConstantFinding("NO_SOURCES", NO_SOURCES_SENTENCE, "open"),
  noSourcesUnseen: createConstantFinding(
    "NO_SOURCES",
    `${NO_SOURCES_SENTENCE} ${TEXT_NOT_CHECKED_SENTENCE}`,
    "open",
  ),
  contentFalse: createConstantFinding(
    "CONTENT_RECORDED_FALSE",
    "This content is recorded as false.",
    "hard",
    true,
  ),
  contentRetracted: createConstantFinding(
    "CONTENT_RETRACTED",
    "This content was retracted.",
    "hard",
  ),
  // A correction differs from the error by a word: nearness alone proves nothing.
  contentNearFalse: createConstantFinding(
    "CONTENT_NEAR_RECORDED_FALSE",
    "This content is nearly the same as content recorded as false or retracted.",
    "soft",
  ),
} as const;

/** By count, made once: the commonest sentence of an empty vault is not built for each reply. */
const NONE_REGISTERED = Array.from({ length: CITED_SOURCES_MAX + 1 }, (_, n) =>
  describeUnregisteredSources(n),
);
const NONE_REGISTERED_UNSEEN = NONE_REGISTERED.map(
  (reason) => `${reason} ${TEXT_NOT_CHECKED_SENTENCE}`,
);

/** No cited source is known. That is no sign against the caller, however full the vault is. */
export function buildUnregisteredFinding(
  sources: { id: string; status: SourceStatus }[],
  isTextUnseen = false,
): VaultFinding {
  const reasons = isTextUnseen ? NONE_REGISTERED_UNSEEN : NONE_REGISTERED;
  return buildFinding({
    code: "SOURCE_UNKNOWN",
    reason: reasons[sources.length]!,
    isHard: false,
    isDoubtful: false,
    isHallucinated: false,
    sources,
  });
}

export function selectNoSourcesFinding(isTextUnseen: boolean): VaultFinding {
  return isTextUnseen ? CONSTANT_FINDINGS.noSourcesUnseen : CONSTANT_FINDINGS.noSources;
}
