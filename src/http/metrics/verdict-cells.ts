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
export const REASON_CLASS_BY_LABEL: Readonly<Record<string, ReasonClass>> = {
  TRUST_SUFFICIENT: "sufficient",
  RISK_TOLERATED: "risk",
  RISK_FLAGGED_FOR_REVIEW: "risk",
  DENIAL_FLAGGED_FOR_REVIEW: "risk",
  RISK_ABOVE_BOUND: "risk",
  RISK_ABOVE_BORDER: "risk",
  THIN_FILE: "thin_file",
  THIN_FILE_TOLERATED: "thin_file",
  THIN_FILE_FLAGGED: "thin_file",
  STALE_RECORD: "stakes",
  STALE_RECORD_FLAGGED: "stakes",
  STAKES_NEED_VERIFICATION: "stakes",
  STAKES_NEED_APPROVAL: "stakes",
  BELOW_TENANT_MINIMUM: "minimum",
  VOUCHED: "vouched",
  AUDIT_SAMPLE: "audit",
  REFUSE_RULE: "refusal",
  REVIEW_OVERTURNED: "review",
  REVIEW_UPHELD: "review",
  SUSPENDED: "condition",
  STOPPED: "condition",
  WATCHED: "condition",
  CLEARED: "condition",
  UNUSUAL_RATE: "limit",
  NEW_ACTIONS: "limit",
  EXPOSURE_ABOVE_CAP: "limit",
  SESSION_TOO_OLD: "limit",
  VERIFIED_SOURCES_REQUIRED: "provenance",
};

const CLASS_INDEX_BY_LABEL = new Map(
  Object.entries(REASON_CLASS_BY_LABEL).map(([label, name]) => [
    label,
    REASON_CLASSES.indexOf(name),
  ]),
);
const PROVENANCE_CLASS_INDEX = REASON_CLASSES.indexOf("provenance");
const CELLS_PER_LEVEL = VERDICTS.length * REASON_CLASSES.length;

export const VERDICT_CELL_COUNT = TOOL_LEVELS.length * CELLS_PER_LEVEL;

/** Cell of a verdict, 0 to VERDICT_CELLS - 1. */
export function computeVerdictCell(
  level: ToolLevel,
  { verdict, log_reason }: VerifyResponse["policy_action"],
): number {
  const reason = CLASS_INDEX_BY_LABEL.get(log_reason) ?? PROVENANCE_CLASS_INDEX;
  const levelIndex = TOOL_LEVELS.indexOf(level);
  return levelIndex * CELLS_PER_LEVEL + VERDICTS.indexOf(verdict) * REASON_CLASSES.length + reason;
}

/** Level, verdict and class of a cell. */
export function decodeVerdictCell(cell: number): [string, string, string] {
  const verdict = Math.trunc((cell % CELLS_PER_LEVEL) / REASON_CLASSES.length);
  return [
    TOOL_LEVELS[Math.trunc(cell / CELLS_PER_LEVEL)]!,
    VERDICTS[verdict]!,
    REASON_CLASSES[cell % REASON_CLASSES.length]!,
  ];
}
