// Words of a back-test for people who have not read the code: questions, reasons, numbers, and what
// to know before the figures are believed.
import type { BacktestFindings, BacktestQuestion } from "../../contract/schemas/backtest.ts";

export const BACKTEST_QUESTION_LABELS: Readonly<Record<BacktestQuestion, string>> = {
  verify: "verify, no stakes named",
  verify_with_stakes: "verify, its stakes named",
  handshake: "handshake, no stakes",
  handshake_with_stakes: "handshake, its stakes named",
};

const REASON_LABELS: Readonly<Record<string, string>> = {
  RISK_ABOVE_BOUND: "risk above the allow bound",
  THIN_FILE: "too few outcomes on record",
  BELOW_TENANT_MINIMUM: "score below the policy's minimum",
  RISK_ABOVE_BORDER: "risk above the border of denial",
  REFUSE_RULE: "a revoked key or a fraud mark, or risk above the border even at best",
  STAKES_NEED_VERIFICATION: "its stakes ask for verification",
  STAKES_NEED_APPROVAL: "its stakes ask for a person",
};

/** A label of the policy in plain words; one without is its own. */
export function formatReasonLabel(logReason: string): string {
  return REASON_LABELS[logReason] ?? logReason;
}

/** `12,345`. */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** Stakes, with cents only where they matter. */
export function formatMoney(value: number): string {
  const maximumFractionDigits = Math.abs(value) < 1000 && !Number.isInteger(value) ? 2 : 0;
  return value.toLocaleString("en-US", { maximumFractionDigits });
}

/** A share as per cent, with enough digits to tell it from 0. */
export function formatRatioAsPercent(share: number): string {
  const value = share * 100;
  if (value === 0) return "0 %";
  if (value === 100) return "100 %";
  return value < 1 || value > 99.5 ? `${value.toFixed(2)} %` : `${value.toFixed(1)} %`;
}

/** `part of whole` as per cent; empty where there is nothing to have a part of. */
export function formatPercent(part: number, whole: number): string {
  return whole === 0 ? "" : formatRatioAsPercent(part / whole);
}

function listWindowWarnings(findings: BacktestFindings): string[] {
  const { outcomes, unvouched, counts_unvouched: areCounted } = findings;
  if (outcomes === 0) return ["no outcome that counts settled in this window"];
  if (!areCounted) return [];
  const all = unvouched === outcomes ? "all" : formatCount(unvouched);
  return [
    `${all} of these outcomes came unsigned from keys that nobody vouches for: whoever holds such ` +
      `a key can invent them; make the keys of your own gateways first-party`,
  ];
}

/** What to know before the figures are believed, in sentences; none where all is well. */
export function listWarnings(findings: BacktestFindings, promotedAt: string | undefined): string[] {
  const { first_at: firstAt, outcomes, without_stakes: withoutStakes } = findings;
  const warnings = listWindowWarnings(findings);
  if (promotedAt !== undefined && firstAt !== null && firstAt < promotedAt) {
    warnings.push(
      `the live weights were promoted on ${promotedAt.slice(0, 10)} and learned from outcomes ` +
        `before that: expect new outcomes to be told apart a little less well`,
    );
  }
  if (withoutStakes > 0) {
    warnings.push(
      withoutStakes === outcomes
        ? `no outcome has stakes that were known beforehand: no money is counted`
        : `${formatCount(withoutStakes)} of ${formatCount(outcomes)} outcomes have no stakes that were ` +
            `known beforehand: no money is counted of these`,
    );
  }
  return warnings;
}
