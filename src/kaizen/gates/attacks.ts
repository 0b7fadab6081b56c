// Attack replays (gate G9): invented agents that praise a fraud, an agent that starts over under a
// new name, one that behaves until it pays, many that slander an honest agent. Played through the
// real engine on a private copy of the table, then judged under any weights: weights do not change
// state.
import type { ScoringConfig, ScoringModel } from "../../engine/config.ts";
import type { FoldOutcome } from "../../engine/reading.ts";
import { show } from "./gate.ts";
import type { GatePolicy, GateResult } from "./gate.ts";
import { denyBorder } from "../model/holdout.ts";
import {
  coefficientsOf,
  createRows,
  isThinRow,
  rowDeviation,
  rowLogit,
} from "../model/scorecard.ts";
import type { ScorecardRows } from "../model/scorecard.ts";

const DAY_MS = 86_400_000;
const COUNTERPARTY_GRADE = 3;
const BUREAU_SIGNATURE = 1;
const FAKE_STAKES = 10;
/** Prefix of the identifiers of invented agents. */
export const INVENTED = "agent://attack/";

/** Engine access of a script. The caller owns the memory, which is spoilt afterwards. */
export interface AttackStage {
  fold(outcome: FoldOutcome): void;
  /**
   * Recomputes credibility over everything folded so far, attack and all, as the service does every
   * hour. Does nothing without seeds: reporters are then indistinguishable.
   */
  refresh(): void;
  /** Appends the leg that scores `subject` at `nowMs` to `rows`. */
  read(rows: ScorecardRows, subject: string, nowMs: number): void;
}

/** Credibility during the scripts; weights play no part in it. */
export interface AttackCredibility {
  isInForce: boolean;
  /** Invented agents that came to have more credibility than a stranger. */
  believed: number;
}

/** Agents that the scripts use. */
export interface AttackAgents {
  /** Agents with a bad record. */
  frauds: readonly string[];
  /** Agents with a good record. */
  honest: readonly string[];
  /** Time after the last outcome, epoch ms. */
  nowMs: number;
}

/** Rows of the victims before and after, by script. */
export type AttackRows = Record<AttackScript, { before: ScorecardRows; after: ScorecardRows }>;

export const ATTACK_SCRIPTS = [
  "sybil_20x5",
  "sybil_200x20",
  "whitewash",
  "on_off",
  "bad_mouthing",
] as const;
export type AttackScript = (typeof ATTACK_SCRIPTS)[number];

function report(subject: string, reporter: string, outcome: 0 | 1, atMs: number): FoldOutcome {
  return {
    subject,
    reporter,
    outcome,
    stakes: FAKE_STAKES,
    gradeIndex: COUNTERPARTY_GRADE,
    signatureIndex: BUREAU_SIGNATURE,
    settledAtMs: atMs,
  };
}

/** `count` invented agents give `each` reports on every victim, and praise one another. */
function crowd(
  stage: AttackStage,
  name: string,
  victims: readonly string[],
  count: number,
  each: number,
  outcome: 0 | 1,
  fromMs: number,
): void {
  victims.forEach((victim, v) => {
    const member = (i: number) => `${INVENTED}${name}-${v}-${i % count}`;
    for (let k = 0; k < each; k++) {
      const atMs = fromMs + Math.floor((k * DAY_MS) / each);
      for (let i = 0; i < count; i++) stage.fold(report(victim, member(i), outcome, atMs));
    }
    for (let i = 0; i < count; i++) {
      stage.fold(report(member(i + 1), member(i), 1, fromMs));
      stage.fold(report(member(i + 2), member(i), 1, fromMs));
    }
  });
}

/** The agent is honest for a month at low stakes, fails five times, and is honest again. */
function onOff(stage: AttackStage, agent: string, reporters: readonly string[], endMs: number) {
  const at = (day: number) => endMs - (45 - day) * DAY_MS;
  const by = (i: number) => reporters[i % reporters.length]!;
  for (let day = 0; day < 30; day++) stage.fold(report(agent, by(day), 1, at(day)));
  for (let i = 0; i < 5; i++) stage.fold(report(agent, by(i), 0, at(31)));
  for (let day = 32; day < 45; day++) stage.fold(report(agent, by(day), 1, at(day)));
}

function readAll(stage: AttackStage, subjects: readonly string[], nowMs: number): ScorecardRows {
  const rows = createRows(subjects.length);
  for (const subject of subjects) stage.read(rows, subject, nowMs);
  return rows;
}

/** Plays all scripts; the table is spoilt afterwards. */
export function playAttacks(stage: AttackStage, attackAgents: AttackAgents): AttackRows {
  const { frauds, honest, nowMs } = attackAgents;
  const thenMs = nowMs + 2 * DAY_MS;
  const half = Math.floor(frauds.length / 2);
  const [few, many] = [frauds.slice(0, half), frauds.slice(half)];
  const slandered = honest.slice(0, Math.ceil(honest.length / 2));
  const reborn = frauds.map((_, i) => `${INVENTED}reborn-${i}`);
  const switcher = `${INVENTED}on-off`;
  const before = {
    sybil_20x5: readAll(stage, few, thenMs),
    sybil_200x20: readAll(stage, many, thenMs),
    whitewash: readAll(stage, frauds, thenMs),
    on_off: readAll(stage, [switcher], thenMs),
    bad_mouthing: readAll(stage, slandered, thenMs),
  };
  onOff(stage, switcher, honest, nowMs);
  crowd(stage, "few", few, 20, 5, 1, nowMs);
  crowd(stage, "many", many, 200, 20, 1, nowMs);
  crowd(stage, "wash", reborn, 5, 1, 1, nowMs);
  crowd(stage, "slander", slandered, 20, 5, 0, nowMs);
  stage.refresh();
  // The praise counts as it was folded; a second wave meets the standings earned by the first.
  crowd(stage, "few", few, 20, 5, 1, nowMs + DAY_MS);
  crowd(stage, "slander", slandered, 20, 5, 0, nowMs + DAY_MS);
  return {
    sybil_20x5: { before: before.sybil_20x5, after: readAll(stage, few, thenMs) },
    sybil_200x20: { before: before.sybil_200x20, after: readAll(stage, many, thenMs) },
    whitewash: { before: before.whitewash, after: readAll(stage, reborn, thenMs) },
    on_off: { before: before.on_off, after: readAll(stage, [switcher], thenMs) },
    bad_mouthing: { before: before.bad_mouthing, after: readAll(stage, slandered, thenMs) },
  };
}

/** Pessimistic scores of the rows under a model, clipped as the engine clips them. */
function effectiveScores(rows: ScorecardRows, model: ScoringModel, config: ScoringConfig) {
  const beta = coefficientsOf(model);
  return Array.from({ length: rows.count }, (_, row) => {
    const eta = rowLogit(rows, row, beta) + config.caution * rowDeviation(rows, row, model);
    return Math.min(850, Math.max(300, config.score_offset - config.score_factor * eta));
  });
}

function isDenied(rows: ScorecardRows, row: number, model: ScoringModel, config: ScoringConfig) {
  const p = 1 / (1 + Math.exp(-rowLogit(rows, row, coefficientsOf(model))));
  return !isThinRow(rows, row, config) && p >= denyBorder(model, config);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Median change of the pessimistic score of each script's victims, in points. */
export function attackLifts(
  rows: AttackRows,
  model: ScoringModel,
  config: ScoringConfig,
): Record<AttackScript, number> {
  const lift = (script: AttackScript) => {
    const { before, after } = rows[script];
    const old = effectiveScores(before, model, config);
    return median(effectiveScores(after, model, config).map((score, i) => score - old[i]!));
  };
  return Object.fromEntries(ATTACK_SCRIPTS.map((script) => [script, lift(script)])) as Record<
    AttackScript,
    number
  >;
}

/** Honest agents that only the slander gets denied. */
function refusedBySlander(rows: AttackRows, model: ScoringModel, config: ScoringConfig): number {
  const { before, after } = rows.bad_mouthing;
  let refused = 0;
  for (let row = 0; row < after.count; row++) {
    const wasDenied = isDenied(before, row, model, config);
    if (!wasDenied && isDenied(after, row, model, config)) refused++;
  }
  return refused;
}

/**
 * G9: effect of invented agents under the challenger. Above the limit it may still pass when the
 * effect under the champion is no smaller: without verified seeds no weights can distinguish
 * reporters.
 */
export function attackGate(
  rows: AttackRows,
  champion: ScoringModel,
  challenger: ScoringModel,
  config: ScoringConfig,
  policy: GatePolicy,
  credibility: AttackCredibility = { isInForce: false, believed: 0 },
): GateResult {
  const own = attackLifts(rows, challenger, config);
  const other = attackLifts(rows, champion, config);
  const refused = refusedBySlander(rows, challenger, config);
  const refusedNow = refusedBySlander(rows, champion, config);
  const isFew = own.sybil_20x5 <= Math.max(policy.lift_20x5_max, other.sybil_20x5);
  const isMany = own.sybil_200x20 <= Math.max(policy.lift_200x20_max, other.sybil_200x20);
  const numbers: Record<string, number> = {
    refused_by_slander: refused,
    champion_refused_by_slander: refusedNow,
    credibility_in_force: credibility.isInForce ? 1 : 0,
    invented_believed: credibility.believed,
  };
  for (const script of ATTACK_SCRIPTS) {
    numbers[script] = own[script];
    numbers[`champion_${script}`] = other[script];
  }
  const sentence =
    `20 x 5 invented reports lift a fraud by ${show(own.sybil_20x5, 1)} points (champion ` +
    `${show(other.sybil_20x5, 1)}), 200 x 20 by ${show(own.sybil_200x20, 1)} (champion ` +
    `${show(other.sybil_200x20, 1)}); ${refused} honest agents refused on slander ` +
    `alone (champion ${refusedNow}); ` +
    (credibility.isInForce
      ? `${credibility.believed} invented agents came to be believed`
      : "no seeds are named, so that every reporter counts fully");
  const passed = isFew && isMany && refused <= refusedNow;
  return { id: "G9", name: "attacks", passed, numbers, sentence };
}
