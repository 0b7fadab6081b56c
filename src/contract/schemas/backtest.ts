// Messages of the back-test of a policy: flat lists of rows, each under the policy, question and
// level that it is about, so that a table, a plot or a view needs no walk through a tree.
import { POLICY_LABELS, TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import { PolicyRequest } from "./policy.ts";
import * as t from "./schema.ts";

/**
 * Questions that each outcome is put as: a verify that names no stakes, one that names the
 * outcome's; the leg of a handshake in which its reporter looks at its subject, without stakes and
 * at the outcome's.
 */
export const BACKTEST_QUESTIONS = [
  "verify",
  "verify_with_stakes",
  "handshake",
  "handshake_with_stakes",
] as const;
export type BacktestQuestion = (typeof BACKTEST_QUESTIONS)[number];

/** The policy in force, and the one that was sent. */
export const BACKTEST_POLICIES = ["live", "given"] as const;
export type BacktestPolicy = (typeof BACKTEST_POLICIES)[number];

export const BACKTEST_STATES = ["running", "done", "failed"] as const;

/** `POST /v1/policy/backtest`: without `policy` the one in force alone. */
export const BacktestRequest = t.defineStrictMessage("BacktestRequest", {
  policy: t.makeOptional(PolicyRequest),
  /** Outcomes settled from here on, and before `to`. */
  from: t.makeOptional(t.timeOrMs),
  to: t.makeOptional(t.timeOrMs),
  /** True: outcomes of keys that nobody vouches for count, too. */
  include_unvouched: t.withDefault(t.flag, false),
  /** False: answered at once with the id. */
  wait: t.withDefault(t.flag, true),
});

const question = t.defineChoice(BACKTEST_QUESTIONS);
const level = t.defineChoice(TOOL_LEVELS);
const of = { policy: t.defineChoice(BACKTEST_POLICIES), question, level };

const row = t.defineObject({
  ...of,
  policy_version: t.text,
  ...t.repeatSchema(t.integer, "good", "bad"),
  ...t.repeatSchema(
    t.integer,
    "good_allowed",
    "good_challenged",
    "good_quarantined",
    "good_blocked",
  ),
  ...t.repeatSchema(t.integer, "bad_allowed", "bad_challenged", "bad_quarantined", "bad_blocked"),
  /** Of those allowed: flagged for a person. */
  ...t.repeatSchema(t.integer, "good_flagged", "bad_flagged"),
  /** Stakes of all outcomes, of the bad ones allowed, of the good ones not allowed. */
  ...t.repeatSchema(t.number, "stakes_good", "stakes_bad", "stakes_lost", "stakes_turned_away"),
  /** Good outcomes quarantined or blocked, their share, and its 95 % interval. */
  false_alarms: t.integer,
  ...t.repeatSchema(
    t.defineNullableAnswer(t.share),
    "false_alarm_rate",
    "false_alarm_low",
    "false_alarm_high",
  ),
});
export type BacktestRow = t.MessageOf<typeof row>;

/** One entry for each of `bounds`: what an allow bound there would let through. */
const curve = t.defineObject({
  ...of,
  /** The bound that the policy has. */
  bound: t.share,
  ...t.repeatSchema(t.defineList(t.integer), "good_allowed", "bad_allowed"),
  ...t.repeatSchema(t.defineList(t.number), "stakes_lost", "stakes_turned_away"),
});
export type BacktestCurve = t.MessageOf<typeof curve>;

/** Outcomes that a rule did not allow. */
const reason = t.defineObject({
  ...of,
  log_reason: t.defineChoice(POLICY_LABELS),
  verdict: t.defineChoice(VERDICTS),
  ...t.repeatSchema(t.integer, "good", "bad"),
});
export type BacktestReason = t.MessageOf<typeof reason>;

const moved = t.repeatSchema(
  t.integer,
  "good_newly_allowed",
  "bad_newly_allowed",
  "good_newly_turned_away",
  "bad_newly_turned_away",
);
const change = t.defineObject({
  question,
  level,
  ...moved,
  /** Stakes of the bad ones newly allowed, and of those newly turned away; of the good ones. */
  ...t.repeatSchema(t.number, "stakes_newly_lost", "stakes_newly_saved"),
  ...t.repeatSchema(t.number, "stakes_newly_admitted", "stakes_newly_turned_away"),
});
export type BacktestChange = t.MessageOf<typeof change>;

const agent = t.defineObject({ question, level, agent: t.text, ...moved });
export type BacktestAgent = t.MessageOf<typeof agent>;

/** Who asks in the money of a back-test: a check, or verify at a level. */
export const BACKTEST_MONEY_QUESTIONS = ["check", "L2", "L3"] as const;
export type BacktestMoneyQuestion = (typeof BACKTEST_MONEY_QUESTIONS)[number];
/** Whose decisions: a policy's, or none at all. */
export const BACKTEST_MONEY_PLANS = ["live", "given", "always_verify", "connect_all"] as const;
export type BacktestMoneyPlan = (typeof BACKTEST_MONEY_PLANS)[number];

const moneyShares = t.repeatSchema(
  t.numberOrNull,
  "good_connected",
  "good_held",
  "bad_money_connected",
  "cost_share",
);
/** What the decisions on deals of known stakes would have cost, in the tenant's unit. */
const money = t.defineObject({
  asked: t.defineChoice(BACKTEST_MONEY_QUESTIONS),
  plan: t.defineChoice(BACKTEST_MONEY_PLANS),
  deals: t.integer,
  /** Losses of allowed failures, volume lost to delay, fees of verifying and of people. */
  ...t.repeatSchema(t.number, "volume", "lost", "friction", "review", "cost"),
  /** Shares of the good deals, of the failing volume, and of all volume. */
  ...moneyShares,
});
export type BacktestMoneyRow = t.MessageOf<typeof money>;

/** What check would do, were one number of the policy another. */
const moneyCurve = t.defineObject({
  member: t.defineChoice(["tolerated_loss_bps", "risk_tolerance"] as const),
  in_force: t.number,
  points: t.defineList(t.defineObject({ value: t.number, ...moneyShares })),
});
export type BacktestMoneyCurve = t.MessageOf<typeof moneyCurve>;

/** Everything that a replay finds, without who asked when. */
const findings = {
  ...t.repeatSchema(t.integer, "outcomes", "good", "bad"),
  /** Outcomes in the window of keys that nobody vouches for, and whether they count. */
  unvouched: t.integer,
  counts_unvouched: t.flag,
  /** Counted outcomes whose stakes were known only with them: no money is counted of these. */
  without_stakes: t.integer,
  /** Settling times of the first and the last outcome counted. */
  first_at: t.timeOrNull,
  last_at: t.timeOrNull,
  /** Ascending. */
  bounds: t.defineList(t.share),
  rows: t.defineList(row),
  curves: t.defineList(curve),
  reasons: t.defineList(reason),
  changes: t.defineList(change),
  /** Those with the most changes, at most 20 for each question at L2 and at L3. */
  agents: t.defineList(agent),
  money: t.defineList(money),
  money_curves: t.defineList(moneyCurve),
};
const foundObject = t.defineObject(findings);
export type BacktestFindings = t.MessageOf<typeof foundObject>;

const version = t.defineObject({ version: t.text, policy: PolicyRequest });

const summary = {
  backtest_id: t.text,
  state: t.defineChoice(BACKTEST_STATES),
  tenant: t.text,
  /** Id of the API key. */
  started_by: t.text,
  started_at: t.time,
  duration_ms: t.makeOptional(t.integer),
  /** Journal position up to which history was read. */
  position: t.integer,
  /** Weights that every outcome was scored with. */
  config_version: t.text,
  live_version: t.text,
  given_version: t.textOrNull,
  /** The window asked for, over settling times. */
  from: t.timeOrNull,
  to: t.timeOrNull,
  /** Why it failed. */
  reason: t.makeOptional(t.text),
  ...t.repeatSchema(t.makeOptional(t.integer), "outcomes", "good", "bad"),
};

/** A back-test without its figures. */
const summaryObject = t.defineObject(summary);
export type BacktestSummary = t.MessageOf<typeof summaryObject>;

export const Backtest = t.defineMessage("Backtest", {
  ...summary,
  /** Whole policies under their versions. */
  live: t.makeOptional(version),
  given: t.makeOptional(version),
  unit_of_account: t.makeOptional(
    t.withDescription(t.text, "What stakes are counted in, as the service names it."),
  ),
  /** What to know before the figures are believed, in sentences. */
  warnings: t.makeOptional(t.texts),
  findings: t.makeOptional(foundObject),
});
export type Backtest = t.MessageOf<typeof Backtest>;

export const BacktestList = t.defineMessage("BacktestList", {
  running: t.makeOptional(t.defineObject({ backtest_id: t.text, share: t.share })),
  /** Newest first. */
  backtests: t.defineList(summaryObject),
});
export type BacktestList = t.MessageOf<typeof BacktestList>;
