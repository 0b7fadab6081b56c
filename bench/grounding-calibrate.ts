// Thresholds of the shipped kinds by split conformal, and their coverage on rows that neither fit
// nor calibration saw.
import { ONE } from "../assembly/grounding/layout.ts";
import {
  countCleanTextsNeeded,
  computeConformalThreshold,
} from "../src/vault/calibration/conformal.ts";
import type { GroundingNumbers } from "../src/vault/grounding/tables.ts";
import { TEXT_KINDS } from "../src/contract/vocabulary.ts";
import type { TextKind } from "../src/contract/vocabulary.ts";
import type { Scored } from "./grounding-fit.ts";
import { groupDigest, kindOfRow } from "./grounding-rows.ts";
import type { LabelledRow } from "./grounding-rows.ts";

/** Rate of clean texts that may draw a doubt. */
export const ALPHA_LO = 0.05;
/** Rate of clean texts that may be called hallucinated. */
export const ALPHA_HI = 0.01;
/** Defaults (provenance 5) where too few clean sources are known. */
const TAU_LO = 3 * ONE;
const TAU_HI = 4 * ONE;

/** Kinds with too few sources to share them: all calibrate, the others fit for them. */
const ONLY_CALIBRATING: ReadonlySet<TextKind> = new Set(["summary"]);

/** Three sources in four calibrate: the few numbers of the fit are content with the rest. */
export function isCalibrating(row: LabelledRow): boolean {
  if (ONLY_CALIBRATING.has(kindOfRow(row))) return true;
  return Number.parseInt(groupDigest(row).slice(-6), 16) % 4 !== 0;
}

/** One clean row of every source, always the same one: rows of one source are not independent. */
function onePerSource(scored: readonly Scored[]): Scored[] {
  const chosen = new Map<string, Scored>();
  for (const each of scored) {
    const group = groupDigest(each.row);
    const before = chosen.get(group);
    if (before === undefined || each.row.resp < before.row.resp) chosen.set(group, each);
  }
  return [...chosen.values()];
}

function cleanOf(scored: readonly Scored[], kind: TextKind): Scored[] {
  return scored.filter(({ row }) => row.label === 0 && kindOfRow(row) === kind);
}

/** Sets the thresholds of every kind from the clean calibration rows among these. */
export function calibrate(numbers: GroundingNumbers, scored: readonly Scored[]): void {
  const calibrating = scored.filter(({ row }) => isCalibrating(row));
  for (const kind of TEXT_KINDS) {
    const risks = onePerSource(cleanOf(calibrating, kind)).map(({ risk }) => risk);
    const lo = computeConformalThreshold(risks, ALPHA_LO);
    const hi = computeConformalThreshold(risks, ALPHA_HI);
    Object.assign(numbers.kinds[kind], {
      tau_lo: lo?.at ?? TAU_LO,
      // Never below the first: a text cannot be accused and not be doubted.
      tau_hi: hi?.at ?? Math.max(TAU_HI, lo?.at ?? TAU_LO),
      sources: risks.length,
      alpha_lo: lo?.alpha ?? 0,
      alpha_hi: hi?.alpha ?? 0,
    });
  }
}

/** A held-out row with the thresholds that were calibrated without its source. */
export interface Calibrated extends Scored {
  tauLo: number;
  tauHi: number;
  alphaLo: number;
  alphaHi: number;
}

/** Rows with the thresholds of their kind. */
export function withThresholds(scored: readonly Scored[], numbers: GroundingNumbers): Calibrated[] {
  return scored.map((each) => {
    const { tau_lo, tau_hi, alpha_lo, alpha_hi } = numbers.kinds[kindOfRow(each.row)];
    return { ...each, tauLo: tau_lo, tauHi: tau_hi, alphaLo: alpha_lo, alphaHi: alpha_hi };
  });
}

const share = (part: number, whole: number) =>
  whole === 0 ? null : Math.round((part / whole) * 1e4) / 1e4;

/** Per kind: the share promised (null for a default), the share seen on held-out rows, recall. */
export function coverageOf(rows: readonly Calibrated[]) {
  return TEXT_KINDS.map((kind) => {
    const own = rows.filter(({ row }) => kindOfRow(row) === kind);
    const clean = own.filter(({ row }) => row.label === 0);
    const single = onePerSource(clean) as Calibrated[];
    const bad = own.filter(({ row }) => row.label === 1);
    const level = (tau: "tauLo" | "tauHi", alpha: "alphaLo" | "alphaHi") => {
      const above = (given: readonly Calibrated[]) =>
        given.filter((each) => each.risk >= each[tau] && (tau === "tauLo" || each.isContradicted));
      const isPromised = clean.length > 0 && clean.every((each) => each[alpha] > 0);
      return {
        nominal: isPromised ? Math.max(...clean.map((each) => each[alpha])) : null,
        achieved: share(above(single).length, single.length),
        achieved_rows: share(above(clean).length, clean.length),
        recall: share(above(bad).length, bad.length),
      };
    };
    return {
      kind,
      clean_sources: single.length,
      clean_rows: clean.length,
      doubt: level("tauLo", "alphaLo"),
      hallucinated: level("tauHi", "alphaHi"),
    };
  }).filter(({ clean_rows }) => clean_rows > 0);
}

const DRAWS = 400;

/**
 * Effect of a tenant's own labels: clean risks of one kind drawn at random, half of them (at least
 * as many as `alpha` needs) calibrate, the rest are judged. Mean share flagged over the draws.
 */
export function tenantCoverageOf(rows: readonly Scored[], alpha: number) {
  return TEXT_KINDS.flatMap((kind) => {
    const risks = cleanOf(rows, kind).map(({ risk }) => risk);
    const count = Math.max(countCleanTextsNeeded(alpha), risks.length >> 1);
    if (risks.length <= count) return [];
    let state = 20_260_615;
    let sum = 0;
    for (let draw = 0; draw < DRAWS; draw++) {
      const shuffled = risks
        .map((risk) => ({ risk, at: (state = (state * 48_271) % 2_147_483_647) }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ risk }) => risk);
      const threshold = computeConformalThreshold(shuffled.slice(0, count), alpha)!;
      const judged = shuffled.slice(count);
      sum += judged.filter((risk) => risk >= threshold.at).length / judged.length;
    }
    return [{ kind, labels: count, nominal: alpha, achieved: share(sum, DRAWS) }];
  });
}
