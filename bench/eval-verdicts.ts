// eval:verdicts: who is let through by the default policy on a real stream where no stakes are named, level by
// level. The engine replays the stream, every outcome is judged from the history strictly before it, and the
// service's own policy function decides on the engine's reading. Weights and borders are fitted on what came
// before the judged part; the shipped ones stand beside them. Outcomes are known at once and, in `lag7`,
// after seven days. They are folded with drawn stakes (drawn-stakes.ts): the size of a rating is no amount, and
// as one it would take a third of most outcomes' weight; --stakes ratings uses it nevertheless, as an import
// does. --format outcomes reads the lines of an import, such as data/sample/outcomes.ndjson, with the stakes that
// they have. False positives count every 403 that a good outcome's agent would have got, CHALLENGE included, beside
// denials (QUARANTINE and BLOCK). One JSON object on the last line of stdout.
import { parsed } from "./load/parsed.ts";
import { DEFAULT_POLICY, MINIMUM_SCORES_DEFAULT } from "../src/contract/policy.ts";
import { FEATURES, TOOL_LEVELS, VERDICT } from "../src/contract/vocabulary.ts";
import type { ToolLevel } from "../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import type { AgentScore } from "../src/engine/reading.ts";
import { computeDenialThreshold } from "../src/kaizen/model/holdout.ts";
import { fitDenialThreshold } from "../src/kaizen/model/forecast-metrics.ts";
import {
  fitScorecard,
  isThinRow,
  computeRowLogit,
  replaceCoefficients,
} from "../src/kaizen/model/scorecard.ts";
import type { ScorecardRows } from "../src/kaizen/model/scorecard.ts";
import { createActivePolicy } from "../src/policy/active-policy.ts";
import { fillHandshakeRuleInputs, fillRuleInputs } from "../src/policy/policy-query.ts";
import type { PolicyQuery } from "../src/policy/policy-query.ts";
import { applyPolicyRules } from "../src/policy/rules.ts";
import { createRuleInputs } from "../src/policy/rule-inputs.ts";
import { drawStakes } from "./drawn-stakes.ts";
import { flagEstablished } from "./established.ts";
import { readOutcomes, readRatings } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { replay, usableColumns, walkStream } from "./replay.ts";
import type { Delay } from "./replay.ts";

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
const PARTS = { test: [0.8, 1], validation: [0.6, 0.8] } as const;
const LAG_DAYS = 7;
/** Of the drawn stakes: nearly all count fully, so that another seed changes next to nothing. */
const SEED = 1;
const STAKES = ["drawn", "ratings"] as const;
const FORMATS: ReadonlySet<string> = new Set(["snap-ratings", "outcomes"]);
const active = createActivePolicy(DEFAULT_POLICY);

/** When outcomes become known, and who is established by what is known then. */
interface Lag {
  readonly delay: Delay;
  readonly established: Uint8Array;
}

/** Rows [train, from) fit, rows [from, to) are judged. */
interface Split {
  train: number;
  from: number;
  to: number;
}

interface Counts {
  good: number;
  bad: number;
  established: number;
}

const createCounts = (): Counts => ({ good: 0, bad: 0, established: 0 });

function createLevelCounts(): Record<ToolLevel, Counts> {
  return { L0: createCounts(), L1: createCounts(), L2: createCounts(), L3: createCounts() };
}

/** Outcomes of one side let through and denied. */
class SideTally {
  readonly #seen = createCounts();
  readonly #allowed = createLevelCounts();
  readonly #denied = createLevelCounts();
  readonly #thin = { good: 0, bad: 0 };
  readonly #side: Side;
  readonly #rules = createRuleInputs();

  constructor(side: Side) {
    this.#side = side;
  }

  add(outcome: RatedOutcome, reading: AgentScore, isEstablished: boolean): void {
    const kind = outcome.failure === 1 ? "bad" : "good";
    const query: PolicyQuery = {
      active,
      reading,
      agentId: outcome.subject,
      nowMs: outcome.timeMs,
      stakes: 0,
      minimumScores: MINIMUM_SCORES_DEFAULT,
      rules: this.#rules,
    };
    const fill = this.#side === "check" ? fillRuleInputs : fillHandshakeRuleInputs;
    this.#seen[kind] += 1;
    if (isEstablished) this.#seen.established += 1;
    if (reading.isThin) this.#thin[kind] += 1;
    for (const level of TOOL_LEVELS) {
      const { verdictIndex } = applyPolicyRules(fill(query, level));
      const counts = verdictIndex === VERDICT.ALLOW ? this.#allowed : this.#denied;
      if (verdictIndex === VERDICT.CHALLENGE) continue;
      counts[level][kind] += 1;
      if (isEstablished) counts[level].established += 1;
    }
  }

  /** False positives of a level: shares of good outcomes that are answered 403, and of those denied. */
  #buildFalsePositives(level: ToolLevel) {
    const { good, established } = this.#seen;
    const [allowed, denied] = [this.#allowed[level], this.#denied[level]];
    return {
      good_403: (good - allowed.good) / good,
      good_denied: denied.good / good,
      established_403: (established - allowed.established) / established,
      established_denied: denied.established / established,
    };
  }

  buildShares() {
    const seen = this.#seen;
    const { L2, L3 } = this.#allowed;
    return {
      l2_good_allowed: L2.good / seen.good,
      l2_bad_allowed: L2.bad / seen.bad,
      l2_established_allowed: L2.established / seen.established,
      l3_good_allowed: L3.good / seen.good,
      l3_bad_allowed: L3.bad / seen.bad,
      l3_established_allowed: L3.established / seen.established,
      hard_denied_good: this.#denied.L2.good / seen.good,
      hard_denied_bad: this.#denied.L2.bad / seen.bad,
      false_positives: {
        L0: this.#buildFalsePositives("L0"),
        L1: this.#buildFalsePositives("L1"),
        L2: this.#buildFalsePositives("L2"),
        L3: this.#buildFalsePositives("L3"),
      },
      thin_good: this.#thin.good / seen.good,
      thin_bad: this.#thin.bad / seen.bad,
      outcomes: { ...seen },
    };
  }
}

/** Shares of the judged part under one config, both sides. */
function judge(outcomes: readonly RatedOutcome[], lag: Lag, split: Split, config: ScoringConfig) {
  const tallies = { check: new SideTally("check"), handshake: new SideTally("handshake") };
  const walk = { config, delay: lag.delay, from: split.from };
  walkStream(outcomes.slice(0, split.to), walk, (reader, row) => {
    const outcome = outcomes[row]!;
    const { reporter, subject, timeMs } = outcome;
    const isEstablished = lag.established[row] === 1;
    // A reader's readings are reused: each is judged before the next is made.
    const [reading] = reader.handshake(reporter, subject, 0, timeMs);
    tallies.handshake.add(outcome, reading, isEstablished);
    tallies.check.add(outcome, reader.check(subject, 0, timeMs), isEstablished);
  });
  const build = (side: Side) => ({
    ...tallies[side].buildShares(),
    deny_at: computeDenialThreshold(config[side], config),
  });
  return { check: build("check"), handshake: build("handshake") };
}

/** Weights by the training part, and the border that its successes allow. */
function fitModel(
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
  const goods: number[] = [];
  for (let row = split.train; row < split.from; row++) {
    if (failures[row] === 1) continue;
    const probability = 1 / (1 + Math.exp(-computeRowLogit(rows, row, fit.coefficients)));
    goods.push(isThinRow(rows, row, config) ? 0 : probability);
  }
  // Above 1: closed, where there are too few successes for a guarantee.
  const denyAt = Math.min(2, fitDenialThreshold(goods));
  return { ...replaceCoefficients(config[side], fit.coefficients), deny_at: denyAt };
}

/** Shares under fitted weights and, in `shipped`, under the shipped ones. */
function evaluate(outcomes: readonly RatedOutcome[], lagDays: number, split: Split) {
  const delay = { days: lagDays, of: "all" } as const;
  const lag = { delay, established: flagEstablished(outcomes, delay) };
  const config = loadDefaultConfig();
  process.stderr.write(`${outcomes.length} outcomes, known ${lagDays} days late\n`);
  const { check, handshake, failures } = replay(outcomes, config, lagDays);
  const fitted = {
    ...config,
    check: fitModel("check", check, failures, split, config),
    handshake: fitModel("handshake", handshake, failures, split, config),
  };
  return {
    ...judge(outcomes, lag, split, fitted),
    shipped: judge(outcomes, lag, split, config),
  };
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      file: { type: "string" },
      format: { type: "string", default: "snap-ratings" },
      part: { type: "string", default: "test" },
      stakes: { type: "string", default: "drawn" },
    },
  });
  const part = PARTS[values.part as keyof typeof PARTS];
  const stakes = STAKES.find((each) => each === values.stakes);
  const isAsked = FORMATS.has(values.format) && part !== undefined && stakes !== undefined;
  if (values.file === undefined || !isAsked) {
    process.stderr.write(
      "usage: eval:verdicts -- --file F [--format snap-ratings|outcomes] [--part test|validation] " +
        "[--stakes drawn|ratings]\n",
    );
    process.exit(2);
  }
  const hasStakes = values.format === "outcomes";
  const rated = hasStakes ? readOutcomes(values.file) : readRatings(values.file, "eval");
  const outcomes = stakes === "drawn" && !hasStakes ? drawStakes(rated, SEED, 1) : rated;
  const at = (share: number) => Math.floor(outcomes.length * share);
  const split = { train: at(TRAIN_FROM), from: at(part[0]), to: at(part[1]) };
  const report = {
    stakes: hasStakes ? "recorded" : stakes,
    ...evaluate(outcomes, 0, split),
    lag7: evaluate(outcomes, LAG_DAYS, split),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
