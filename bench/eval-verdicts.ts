// eval:verdicts: who is let through by the default policy on a real stream, level by level. The
// engine replays the stream, every outcome is judged from the history strictly before it, and the
// service's own policy function decides. Weights and borders are fitted on what came before the
// judged part; the shipped ones stand beside them. One JSON object on the last line of stdout.
import { parsed } from "./load/parsed.ts";
import { applyPolicyRules, createRuleInputs } from "../src/policy/rules.ts";
import type { PolicyRisk } from "../src/policy/rules.ts";
import { DEFAULT_POLICY } from "../src/contract/policy.ts";
import { FEATURES, VERDICTS } from "../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import { computeDenialThreshold } from "../src/kaizen/model/holdout.ts";
import { fitDenialThreshold } from "../src/kaizen/model/forecast-metrics.ts";
import {
  readCoefficients,
  fitScorecard,
  isThinRow,
  computeRowDeviation,
  computeRowLogit,
  replaceCoefficients,
} from "../src/kaizen/model/scorecard.ts";
import type { ScorecardRows } from "../src/kaizen/model/scorecard.ts";
import { readRatings } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { replay, usableColumns } from "./replay.ts";

const TRAIN_FROM = 0.1;
type Side = "check" | "handshake";

const LAMBDA = 1;
/** Of COLUMNS: intercept, mean, and the feature that is the mean once more. */
const [INTERCEPT, MEAN, BETA] = [0, 2, 4 + FEATURES.indexOf("beta")] as const;
/**
 * What stays as shipped: the mean is the belief itself, and its weight scales the doubt. One fit over
 * years, unlike kaizen's bounded steps, would hand its part to columns without doubt: as good on
 * average, and wrong about agents with a long record. In a check an agent without history reads as the
 * base rate, so the intercept stays too.
 */
const HELD: Readonly<Record<Side, ReadonlySet<number>>> = {
  check: new Set([INTERCEPT, MEAN, BETA]),
  handshake: new Set([MEAN, BETA]),
};
/** A good agent that is established: reporters before, and share of failures before at most. */
const ESTABLISHED_REPORTERS = 10;
const ESTABLISHED_FAILURES = 0.02;
const PARTS = { test: [0.8, 1], validation: [0.6, 0.8] } as const;
const ALLOW = VERDICTS.indexOf("ALLOW");
const QUARANTINE = VERDICTS.indexOf("QUARANTINE");

/** Rows [train, from) fit, rows [from, to) are judged. */
interface Split {
  train: number;
  from: number;
  to: number;
}

/** One of the established good, by what was settled strictly before each outcome. */
function establishedRows(outcomes: readonly RatedOutcome[]): Uint8Array {
  const reporters = new Map<string, Set<string>>();
  const failures = new Map<string, number>();
  const counts = new Map<string, number>();
  const established = new Uint8Array(outcomes.length);
  let settled = 0;
  outcomes.forEach(({ subject, timeMs }, row) => {
    for (; outcomes[settled]!.timeMs < timeMs; settled++) {
      const past = outcomes[settled]!;
      const own = reporters.get(past.subject);
      if (own === undefined) reporters.set(past.subject, new Set([past.reporter]));
      else own.add(past.reporter);
      failures.set(past.subject, (failures.get(past.subject) ?? 0) + past.failure);
      counts.set(past.subject, (counts.get(past.subject) ?? 0) + 1);
    }
    const isBroad = (reporters.get(subject)?.size ?? 0) >= ESTABLISHED_REPORTERS;
    const share = (failures.get(subject) ?? 0) / (counts.get(subject) ?? 1);
    if (isBroad && share <= ESTABLISHED_FAILURES) established[row] = 1;
  });
  return established;
}

/** What the engine would tell the policy of one row, by its own rules (scoring 3 and 4);
 * records nearly forgotten count as denied here, though the engine spares them. */
function riskOf(
  rows: ScorecardRows,
  row: number,
  model: ScoringModel,
  beta: Float64Array,
  config: ScoringConfig,
): PolicyRisk {
  const eta = computeRowLogit(rows, row, beta);
  const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
  const failureProbability = sigmoid(eta);
  const failureOptimistic = sigmoid(
    eta - config.refuse_caution * computeRowDeviation(rows, row, model),
  );
  const isThin = isThinRow(rows, row, config);
  const border = computeDenialThreshold(model, config);
  return {
    failureProbability,
    failureOptimistic,
    isThin,
    isDenied: !isThin && failureProbability >= border,
    isRefused: !isThin && failureOptimistic >= border,
    decisionIndex: 0,
  };
}

/** Shares of outcomes let through and denied, under one model and the default policy. */
function sharesOf(
  side: Side,
  rows: ScorecardRows,
  failures: Uint8Array,
  established: Uint8Array,
  split: Split,
  model: ScoringModel,
  config: ScoringConfig,
) {
  const beta = readCoefficients(model);
  const seen = { good: 0, bad: 0, established: 0 };
  const allowed = { L2: { ...seen }, L3: { ...seen } };
  const thin = { good: 0, bad: 0 };
  const denied = { good: 0, bad: 0 };
  for (let row = split.from; row < split.to; row++) {
    const kind = failures[row] === 1 ? "bad" : "good";
    const isEstablished = kind === "good" && established[row] === 1;
    const risk = riskOf(rows, row, model, beta, config);
    seen[kind]++;
    if (isEstablished) seen.established++;
    if (risk.isThin) thin[kind]++;
    for (const level of ["L2", "L3"] as const) {
      const rules = DEFAULT_POLICY.levels[level];
      const bound = side === "check" ? rules.allow_up_to : rules.allow_handshake_up_to;
      const inputs = { ...createRuleInputs(level, rules, risk), allowUpTo: bound };
      const { verdictIndex } = applyPolicyRules(inputs);
      if (verdictIndex === ALLOW) {
        allowed[level][kind]++;
        if (isEstablished) allowed[level].established++;
      }
      if (level === "L2" && verdictIndex >= QUARANTINE) denied[kind]++;
    }
  }
  return {
    l2_good_allowed: allowed.L2.good / seen.good,
    l2_bad_allowed: allowed.L2.bad / seen.bad,
    l2_established_allowed: allowed.L2.established / seen.established,
    l3_good_allowed: allowed.L3.good / seen.good,
    l3_bad_allowed: allowed.L3.bad / seen.bad,
    l3_established_allowed: allowed.L3.established / seen.established,
    hard_denied_good: denied.good / seen.good,
    hard_denied_bad: denied.bad / seen.bad,
    thin_good: thin.good / seen.good,
    thin_bad: thin.bad / seen.bad,
    deny_at: computeDenialThreshold(model, config),
    outcomes: { ...seen },
  };
}

/** Weights by the training part, and the border that its successes allow. */
function fitted(
  side: Side,
  rows: ScorecardRows,
  failures: Uint8Array,
  split: Split,
  config: ScoringConfig,
): ScoringModel {
  const usable = usableColumns(side === "handshake");
  const range = [split.train, split.from] as const;
  const fit = fitScorecard({ rows, failures }, range, config[side], {
    usable,
    lambda: LAMBDA,
    held: HELD[side],
  });
  if (fit === null) throw new Error(`the ${side} fit broke`);
  const model = replaceCoefficients(config[side], fit.coefficients);
  const goods: number[] = [];
  for (let row = split.train; row < split.from; row++) {
    if (failures[row] === 1) continue;
    const risk = riskOf(rows, row, model, fit.coefficients, config);
    goods.push(risk.isThin ? 0 : risk.failureProbability);
  }
  // Above 1: closed, where there are too few successes for a guarantee.
  return { ...model, deny_at: Math.min(2, fitDenialThreshold(goods)) };
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      file: { type: "string" },
      format: { type: "string", default: "snap-ratings" },
      part: { type: "string", default: "test" },
      "lag-days": { type: "string", default: "0" },
    },
  });
  const part = PARTS[values.part as keyof typeof PARTS];
  if (values.file === undefined || values.format !== "snap-ratings" || part === undefined) {
    process.stderr.write(
      "usage: eval:verdicts -- --file F [--format snap-ratings] [--part test|validation] " +
        "[--lag-days N]\n",
    );
    process.exit(2);
  }
  const outcomes = readRatings(values.file, "eval");
  const at = (share: number) => Math.floor(outcomes.length * share);
  const split = { train: at(TRAIN_FROM), from: at(part[0]), to: at(part[1]) };
  const config = loadDefaultConfig();
  process.stderr.write(`replaying ${outcomes.length} outcomes through the engine\n`);
  const { check, handshake, failures } = replay(outcomes, config, Number(values["lag-days"]));
  const established = establishedRows(outcomes);
  const sidesOf = (modelOf: (side: Side, rows: ScorecardRows) => ScoringModel) => {
    const judge = (side: Side, rows: ScorecardRows) =>
      sharesOf(side, rows, failures, established, split, modelOf(side, rows), config);
    return { check: judge("check", check), handshake: judge("handshake", handshake) };
  };
  const report = {
    ...sidesOf((side, rows) => fitted(side, rows, failures, split, config)),
    shipped: sidesOf((side) => config[side]),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
