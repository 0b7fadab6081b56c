// Why a run ended as it did, in sentences for readers who do not know the gates.
import { findGateQuestion } from "../gates/register.ts";
import type { RunRecord } from "../kaizen.ts";
import type { ScorecardFindings } from "../run.ts";
import { RUN_KIND_LABELS } from "./labels.ts";

const SIDE_NAMES = { check: "check and verify", handshake: "handshake" } as const;

/** What became of weights that passed. */
const PASSED_ENDINGS = {
  running: "They are not live yet.",
  kept: "They were not made live.",
  promoted: "They are live now, half of the way from the old weights to the fitted ones.",
  dry_run: "This was a dry run: they are not live, and a person may promote them.",
  failed: "They were not made live.",
} as const;

const formatPercent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function explainSide(side: ScorecardFindings, state: RunRecord["state"]): string {
  const name = `Weights of ${SIDE_NAMES[side.side]}`;
  if (!side.passed) {
    const failed = side.gates.find((gate) => !gate.passed);
    if (failed === undefined) return `${name}: not changed, ${side.reason}.`;
    const question = findGateQuestion(failed) ?? failed.name;
    return `${name}: not changed, because of gate ${failed.id}. It asks: "${question}"`;
  }
  const gain = side.gates.find(({ id }) => id === "G2")?.numbers["relative_gain"] ?? 0;
  return (
    `${name}: all ${side.gates.length} gates passed. On ${side.rows.holdout.toLocaleString("en-US")} outcomes that no fit had ` +
    `seen, the new weights predict failures better than the live ones (log-loss ` +
    `${formatPercent(gain)} lower, more than chance explains), and no gate found agents treated ` +
    `worse. ${PASSED_ENDINGS[state]}`
  );
}

/** The kind of the run, then one sentence or two for each scorecard. Empty details before its end. */
export function explainRun(run: RunRecord): string[] {
  const { title, about } = RUN_KIND_LABELS[run.kind ?? "full"];
  const sides = run.findings?.sides ?? [];
  return [`${title}: ${about}.`, ...sides.map((side) => explainSide(side, run.state))];
}
