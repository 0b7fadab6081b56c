// Cells in which verdicts are counted: one for each tool level, verdict and class of reason. The
// label of the rule that decided (`log_reason`) is one of a few of the policy's own, or a finding
// about the content: classes keep the number of time series small.
import type { VerifyResponse } from "../../contract/schemas/scores.ts";
import {
  REASON_CLASSES,
  TOOL_LEVELS,
  type ToolLevel,
  VERDICTS,
} from "../../contract/vocabulary.ts";

type ReasonClass = (typeof REASON_CLASSES)[number];

/** Labels of the policy; every other one is a finding about content or sources. */
export const CLASS_OF_LABEL: Readonly<Record<string, ReasonClass>> = {
  TRUST_SUFFICIENT: "sufficient",
  RISK_TOLERATED: "risk",
  RISK_FLAGGED_FOR_REVIEW: "risk",
  DENIAL_FLAGGED_FOR_REVIEW: "risk",
  RISK_ABOVE_BOUND: "risk",
  RISK_ABOVE_BORDER: "risk",
  THIN_FILE: "thin_file",
  THIN_FILE_TOLERATED: "thin_file",
  THIN_FILE_FLAGGED: "thin_file",
  STAKES_NEED_VERIFICATION: "stakes",
  STAKES_NEED_APPROVAL: "stakes",
  BELOW_TENANT_MINIMUM: "minimum",
  VOUCHED: "vouched",
  AUDIT_SAMPLE: "audit",
  REFUSE_RULE: "refusal",
  REVIEW_OVERTURNED: "review",
  REVIEW_UPHELD: "review",
  VERIFIED_SOURCES_REQUIRED: "provenance",
};

const CLASSES = new Map(
  Object.entries(CLASS_OF_LABEL).map(([label, name]) => [label, REASON_CLASSES.indexOf(name)]),
);
const PROVENANCE = REASON_CLASSES.indexOf("provenance");
const LEVEL_CELLS = VERDICTS.length * REASON_CLASSES.length;

export const VERDICT_CELLS = TOOL_LEVELS.length * LEVEL_CELLS;

/** Cell of a verdict, 0 to VERDICT_CELLS - 1. */
export function verdictCell(
  level: ToolLevel,
  { verdict, log_reason }: VerifyResponse["policy_action"],
): number {
  const reason = CLASSES.get(log_reason) ?? PROVENANCE;
  const levelIndex = TOOL_LEVELS.indexOf(level);
  return levelIndex * LEVEL_CELLS + VERDICTS.indexOf(verdict) * REASON_CLASSES.length + reason;
}

/** Level, verdict and class of a cell. */
export function verdictLabels(cell: number): [string, string, string] {
  const verdict = Math.trunc((cell % LEVEL_CELLS) / REASON_CLASSES.length);
  return [
    TOOL_LEVELS[Math.trunc(cell / LEVEL_CELLS)]!,
    VERDICTS[verdict]!,
    REASON_CLASSES[cell % REASON_CLASSES.length]!,
  ];
}
