// Port of the provenance assessor: findings on a request's content and sources (SPEC §2.2 context, §2.3
// provenance_data), and the assessor without registered sources. Only positive evidence sets a flag: a digest
// alone proves nothing about truth, and a source that is not registered is unknown, not false.
import {
  describeUnregisteredSources,
  NO_SOURCES_SENTENCE,
  NOT_ASSESSED_SENTENCE,
  TEXT_NOT_CHECKED_SENTENCE,
} from "../../contract/finding-sentences.ts";
import type { VerifyContext, VerifyResponse } from "../../contract/schemas/scores.ts";
import type { FindingCode } from "../../contract/vocabulary.ts";

export interface ProvenanceFinding {
  readonly data: VerifyResponse["provenance_data"];
  /** For `reason_codes`; empty when provenance gives no reason to hesitate. */
  readonly reasonCode: FindingCode | "HALLUCINATION_SIGNAL" | "";
  /** Broken evidence (not merely missing): the code that becomes `log_reason`, or empty. */
  readonly hardFailureCode: FindingCode | "";
  /** A doubt that the policy answers with CHALLENGE (DOUBT_CODES of policy/rules.ts), when there is one. */
  readonly softFailureCode?: FindingCode | "";
  /**
   * 0 to 1: how far a doubt lowers the reported score. A hard failure lowers it in full, whatever
   * stands here.
   */
  readonly penalty?: number;
}

/** Code of broken or doubtful provenance; empty for neither. */
export function selectFailureCode(finding: ProvenanceFinding): FindingCode | "" {
  return finding.hardFailureCode || (finding.softFailureCode ?? "");
}

/**
 * Assesses the context of one verify request on the calling thread. Returns a promise only for a
 * text too large for that.
 */
export interface ProvenanceAssessor {
  /** `tenant` bounds the sources that may be cited and the facts that a reason may give. */
  assess(context: VerifyContext, tenant: string): ProvenanceFinding | Promise<ProvenanceFinding>;
}

function createNeutralFinding(reasonCode: FindingCode, reason: string): ProvenanceFinding {
  return Object.freeze({
    data: Object.freeze({ is_hallucinated: false, source_verified: false, reason }),
    reasonCode,
    hardFailureCode: "",
  });
}

const NOT_ASSESSED = createNeutralFinding("PROVENANCE_NOT_ASSESSED", NOT_ASSESSED_SENTENCE);
const NO_SOURCES = createNeutralFinding("NO_SOURCES", NO_SOURCES_SENTENCE);
const NO_SOURCES_UNSEEN = createNeutralFinding(
  "NO_SOURCES",
  `${NO_SOURCES_SENTENCE} ${TEXT_NOT_CHECKED_SENTENCE}`,
);

function buildUnknownSourcesFinding(
  sources: readonly string[],
  isTextUnseen: boolean,
): ProvenanceFinding {
  const reason = describeUnregisteredSources(sources.length);
  return {
    data: {
      is_hallucinated: false,
      source_verified: false,
      reason: isTextUnseen ? `${reason} ${TEXT_NOT_CHECKED_SENTENCE}` : reason,
      sources: sources.map((id) => ({ id, status: "SOURCE_UNKNOWN" })),
    },
    reasonCode: "SOURCE_UNKNOWN",
    hardFailureCode: "",
  };
}

/** Assesses without registered sources. */
export const emptyVaultAssessor = {
  assess(context: VerifyContext): ProvenanceFinding {
    const { content, content_hash, cited_sources: sources } = context;
    const isUnseen = content === undefined && content_hash !== undefined;
    if (sources !== undefined && sources.length > 0) {
      return buildUnknownSourcesFinding(sources, isUnseen);
    }
    if (isUnseen) return NO_SOURCES_UNSEEN;
    return sources === undefined && content === undefined ? NOT_ASSESSED : NO_SOURCES;
  },
} satisfies ProvenanceAssessor;
