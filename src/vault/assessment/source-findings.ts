// Findings from the cited sources and from the text's score against them.
import { ONE } from "../../../assembly/grounding/layout.ts";
import { buildFinding, quoteCallerText, buildUnregisteredFinding } from "./findings.ts";
import type { VaultFinding } from "./findings.ts";
import type { GroundingScore } from "../grounding/grounding.ts";
import { isHardMismatch, listSourceStatuses, UNREGISTERED_STATUSES } from "../sources/statuses.ts";
import type { CitedSource, CitedStatus } from "../sources/statuses.ts";

const SOURCE_REASONS: Readonly<Record<CitedStatus, string>> = {
  SOURCE_VERIFIED: "The cited sources are registered and intact.",
  SOURCE_DOUBTFUL: "The cited source $ is not registered, and its identifier is unusual.",
  SOURCE_UNKNOWN: "The cited source $ is not registered as evidence.",
  SOURCE_REVOKED: "The cited source $ was revoked.",
  SOURCE_RETRACTED: "The cited source $ was retracted.",
  CITATION_MISMATCH: `The cited source $ does not speak of what it is cited for.`,
  SOURCE_RECORDED_FALSE: "The cited source $ is recorded as false.",
  SOURCE_MALFORMED: "The cited source $ cannot exist: its identifier is not valid.",
};

/** Finding of the worst cited source. */
export function buildWorstSourceFinding(
  cited: readonly CitedSource[],
  worst: CitedSource,
): VaultFinding {
  const isHard = isHardMismatch(worst);
  const isMalformed = worst.status === "SOURCE_MALFORMED";
  const { sentence } = worst;
  const reason =
    sentence === undefined
      ? SOURCE_REASONS[worst.status]
      : `Sentence ${sentence + 1} cites $, which does not speak of it.`;
  return buildFinding({
    code: worst.status,
    reason: reason.replace("$", () => quoteCallerText(worst.id)),
    isHard: isMalformed || isHard || worst.status === "SOURCE_RECORDED_FALSE",
    // Unregistered is unknown, not false. A tenant can demand registered sources for a tool level.
    isDoubtful: !UNREGISTERED_STATUSES.has(worst.status),
    // An identifier that cannot exist may be a slip of the pen: broken, yet no proof of invention.
    isHallucinated: isHard,
    sources: listSourceStatuses(cited),
  });
}

export function buildAllUnregisteredFinding(cited: readonly CitedSource[]): VaultFinding {
  return buildUnregisteredFinding(listSourceStatuses(cited));
}

/** H6: the same content under other sources; worse when one of them is younger than the content. */
export function buildCitationsChangedFinding(
  cited: readonly CitedSource[],
  worst: CitedSource,
  newer: CitedSource | undefined,
): VaultFinding {
  const addition =
    newer === undefined
      ? ""
      : ` ${quoteCallerText(newer.id)} was registered after the content was first seen.`;
  return buildFinding({
    code: "CITATIONS_CHANGED",
    reason: `The same content was sent before with other sources.${addition}`,
    isHard: false,
    isDoubtful: true,
    isHallucinated: false,
    isVerified: worst.status === "SOURCE_VERIFIED",
    sources: listSourceStatuses(cited),
  });
}

/**
 * Thresholds of one kind of text: from the first it is doubted, from the second hallucinated if it
 * contradicts a source.
 */
export interface KindThresholds {
  readonly tau_lo: number;
  readonly tau_hi: number;
}

/**
 * R at or above tau_lo: a doubt, and never a hard failure. Absence alone is no evidence against the
 * text: an accusation takes a source that has it otherwise. Quotes nothing but the caller's text.
 */
export function buildUnsupportedFinding(
  cited: readonly CitedSource[],
  worst: CitedSource,
  { content, reading }: { readonly content: string; readonly reading: GroundingScore },
  { tau_hi }: KindThresholds,
): VaultFinding {
  const { worstStart, worstEnd, worstNumber, isContradicted } = reading;
  const said = quoteCallerText(content.slice(worstStart, worstEnd));
  return buildFinding({
    code: "UNSUPPORTED_CONTENT",
    reason:
      `Sentence ${worstNumber + 1} is not supported by the cited sources: ${said}` +
      `${findUnsupportedTerm(content, reading)}.`,
    isHard: false,
    isDoubtful: true,
    isHallucinated: isContradicted && reading.risk >= tau_hi,
    isVerified: worst.status === "SOURCE_VERIFIED",
    penalty: 1 / (1 + Math.exp(-reading.risk / ONE)),
    sources: listSourceStatuses(cited),
  });
}

/** The first number or name of the sentence that no source holds, and whether one has another. */
function findUnsupportedTerm(content: string, reading: GroundingScore): string {
  const { unsupportedKind, unsupportedStart, unsupportedEnd, isContradicted } = reading;
  if (unsupportedKind === 0) return "";
  const missing = quoteCallerText(content.slice(unsupportedStart, unsupportedEnd));
  if (isContradicted) return `; they have another number in place of ${missing}`;
  const what = unsupportedKind === 1 ? "number" : "name";
  return `; the first ${what} missing there is ${missing}`;
}

/** No objection to the sources; the finding on the text is reported as far as it goes. */
export function buildVerifiedFinding(
  cited: readonly CitedSource[],
  content: string | undefined,
  isTooLarge: boolean,
  reading: GroundingScore | undefined,
): VaultFinding {
  const sources = listSourceStatuses(cited);
  const base = { isHard: false, isDoubtful: false, isHallucinated: false, isVerified: true };
  const intact = SOURCE_REASONS.SOURCE_VERIFIED;
  if (content !== undefined && reading === undefined && isTooLarge) {
    const reason =
      "The cited sources are registered; the text was too long to be assessed in time.";
    return buildFinding({ ...base, code: "PROVENANCE_NOT_ASSESSED", reason, sources });
  }
  if (reading === undefined) {
    const reason = `${intact} The text itself was not compared with them.`;
    return buildFinding({ ...base, code: "GROUNDING_NOT_EVALUATED", reason, sources });
  }
  if (reading.mixedWords > 0) {
    const reason = `${intact} ${reading.mixedWords} words of the text mix scripts.`;
    return buildFinding({ ...base, code: "MIXED_SCRIPTS", reason, isDoubtful: true, sources });
  }
  const reason = `${intact} No sentence stands out as unsupported, which does not prove it true.`;
  return buildFinding({ ...base, code: "", reason, sources });
}

/** The content is older than the version of a source that it cites. */
export function buildNewerSourceFinding(
  cited: readonly CitedSource[],
  newer: CitedSource,
): VaultFinding {
  const what = "was registered anew after the content was first seen";
  return buildFinding({
    code: "SOURCE_NEWER",
    reason: `The cited source ${quoteCallerText(newer.id)} ${what}.`,
    isHard: false,
    isDoubtful: false,
    isHallucinated: false,
    isVerified: true,
    sources: listSourceStatuses(cited),
  });
}
