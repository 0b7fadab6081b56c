// Kaizen run over the evidence of a service: both scorecards challenged, the findings as a record
// for people and programs. Pure: the same journal and champion give the same record.
import { DAY_MS } from "../contract/units.ts";
import { createHash } from "node:crypto";
import { DEFAULT_POLICY } from "../contract/policy.ts";
import type { ScoringConfig, ScoringModel } from "../engine/config.ts";
import { evaluateAttackGate } from "./gates/attacks/gate.ts";
import type { AttackJudge, PlayedAttacks } from "./gates/attacks/gate.ts";
import { runPigeonholeBootstrap } from "./model/bootstrap.ts";
import type { BootstrapResult } from "./model/bootstrap.ts";
import { challengeScorecard } from "./challenge.ts";
import type { ChallengeResult, ChallengeOptions } from "./challenge.ts";
import { GATE_POLICY, sortGateResults } from "./gates/register.ts";
import type { GatePolicy, GateResult } from "./gates/register.ts";
import { forecastRows, findFirstRowAtOrAfter, measureRecentRows } from "./model/holdout.ts";
import type { FitRows, RecentMetrics } from "./model/holdout.ts";
import { collectRunFigures } from "./model/run-charts.ts";
import type { RunChartData } from "./model/run-charts.ts";
import { flagUsableColumns, SCORECARD_SIDES } from "./model/scorecard.ts";
import type { RandomStateFindings } from "./gates/monotone.ts";
import type { ScorecardSide } from "./model/scorecard.ts";

/** Days that a holdout spans at most by default. */
const HOLDOUT_DAYS = 60;

export interface KaizenRunOptions {
  id: string;
  /** Time of the run, epoch ms; later evidence is ignored. */
  nowMs: number;
  holdoutDays?: number;
  /** True: a person agrees to a structural change beforehand. */
  isSignedOff: boolean;
  /** True: fewer failures suffice until the deployment has enough evidence. */
  isPilot: boolean;
  /** By scorecard: evidence up to here has been in a test and is spent. */
  testedToMs: Record<ScorecardSide, number>;
  /** Training ends this long before the holdout: the 95th percentile of the settlement lag. */
  gapMs: number;
  /** True: nothing that cannot change the verdict, as attacks on a challenger that fails anyway. */
  isBrief?: boolean;
}

/** The attack scripts on the table as the run finds it (gate G9). */
export interface AttackReplay {
  /** Asked once, and only where a challenger is to be judged. */
  play: () => PlayedAttacks;
  judge: AttackJudge;
}

/** Plays a challenger on random states in a private engine (gate G6). */
export type RandomStateProbe = (
  side: ScorecardSide,
  champion: ScoringConfig,
  challenger: ScoringConfig,
  seed: number,
) => RandomStateFindings;

/** Findings of one scorecard's challenge. */
export interface ScorecardFindings {
  side: ScorecardSide;
  passed: boolean;
  reason: string;
  rows: {
    training: number;
    holdout: number;
    /** Rows of both whose stakes were unknown before the outcome, counted as none. */
    without_stakes: number;
    /** Holdout rows that settled although the live weights would hold them back at L2. */
    held_back?: number;
    /** Holdout rows that name the decision they came of: a service chose them. */
    decided?: number;
  };
  holdout_from_ms: number;
  holdout_to_ms: number;
  lambda?: number;
  /** Why the border of denial is where it is; absent where nothing was fitted. */
  denial_border?: string;
  gates: GateResult[];
  champion: ScoringModel;
  challenger?: ScoringModel;
  bootstrap?: BootstrapResult;
  figures?: RunChartData;
}

/** How good the weights of a scorecard are on the newest outcomes, whatever was tested. */
export interface RecentScorecardMetrics {
  side: ScorecardSide;
  champion: RecentMetrics;
  challenger?: RecentMetrics;
}

/** Both scorecards on the newest outcomes; `promoted` is the config that a run would make live. */
export function forecastNewestOutcomes(
  evidence: Readonly<Record<ScorecardSide, FitRows>>,
  champion: ScoringConfig,
  promoted: ScoringConfig | undefined,
): RecentScorecardMetrics[] {
  return SCORECARD_SIDES.flatMap((side) => {
    const before = measureRecentRows(evidence[side], champion[side], champion);
    const after = promoted && measureRecentRows(evidence[side], promoted[side], promoted);
    if (before === undefined) return [];
    return [{ side, champion: before, ...(after === undefined ? {} : { challenger: after }) }];
  });
}

/** Findings of a run; the promotion is decided on them and they are stored beside it. */
export interface RunFindings {
  sides: ScorecardFindings[];
  /** Champion and, where one passed, challenger on the newest outcomes; absent in older records. */
  recent?: RecentScorecardMetrics[];
  /** The champion with every scorecard that passed; undefined when none did. */
  config?: ScoringConfig;
  reason: string;
  policy: GatePolicy;
}

/** Number of rows up to `to` whose stakes no decision could have known. */
function countRowsWithoutStakes({ context }: FitRows, to: number): number {
  if (context === undefined) return 0;
  return context.stakesKnown.subarray(0, to).reduce((count, known) => count + 1 - known, 0);
}

function countRowsWithDecision({ context }: FitRows, from: number, to: number): number {
  return context?.decided?.subarray(from, to).reduce((count, one) => count + one, 0) ?? 0;
}

/** Numbers of rows on both sides of a split by time. */
export function countRunRows(
  side: ScorecardSide,
  evidence: FitRows,
  champion: ScoringConfig,
  {
    trainTo,
    holdoutFrom,
    holdoutTo,
  }: Pick<ChallengeOptions, "trainTo" | "holdoutFrom" | "holdoutTo">,
): ScorecardFindings["rows"] {
  const { levels } = DEFAULT_POLICY;
  const bound = side === "check" ? levels.L2.allow_up_to : levels.L2.allow_handshake_up_to;
  const live = forecastRows(evidence, [holdoutFrom, holdoutTo], champion[side], champion);
  const heldBack = live.probabilities.filter((p, i) => p > bound || live.thin[i] === 1).length;
  return {
    training: trainTo,
    holdout: holdoutTo - holdoutFrom,
    without_stakes: countRowsWithoutStakes(evidence, holdoutTo),
    held_back: heldBack,
    decided: countRowsWithDecision(evidence, holdoutFrom, holdoutTo),
  };
}

/** Seed from the run's id, so that anyone can repeat the resampling. */
export function deriveSeed(id: string): number {
  return createHash("sha256").update(id).digest().readUInt32LE(0);
}

/** What one challenge is made of, but for the border of denial. */
interface ChallengeAttempt {
  side: ScorecardSide;
  attacks: AttackReplay | undefined;
  champion: ScoringConfig;
  options: KaizenRunOptions;
  challenge: (isBorderKept: boolean) => ChallengeResult;
}

/** The challenge, with gate G9 where attacks can be replayed. */
function challengeWithAttackGate(
  { side, attacks, champion, options, challenge: test }: ChallengeAttempt,
  isKept: boolean,
) {
  const found = test(isKept);
  const { challenger, holdout } = found;
  if (challenger === undefined || holdout === undefined) return found;
  const isAsked = found.passed || options.isBrief !== true;
  const { tapes, credibility } = (isAsked && attacks?.play()) || {};
  if (attacks === undefined || tapes === undefined || credibility === undefined) return found;
  const rivals = { side, holdout, champion, challenger: { ...champion, [side]: challenger } };
  const gate = evaluateAttackGate({ tapes, credibility }, rivals, attacks.judge, GATE_POLICY);
  const gates = sortGateResults([...found.gates, gate]);
  if (gate.passed || !found.passed) return { ...found, gates };
  return { ...found, gates, passed: false, reason: `G9 attacks: ${gate.sentence}` };
}

/**
 * The border of denial is fitted to successes; slander is none of them. Where it alone makes the
 * attacks worse, the weights are tested with the border as it was.
 */
function challengeWithSafeDenialThreshold(contested: ChallengeAttempt): ChallengeResult {
  const found = challengeWithAttackGate(contested, false);
  const { harms = 0, denial_harms: denials } =
    found.gates.find(({ id }) => id === "G9")?.numbers ?? {};
  const isBorderAlone = harms > 0 && harms === denials && found.reason.startsWith("G9");
  return isBorderAlone ? challengeWithAttackGate(contested, true) : found;
}

/** Settling time from which on outcomes test a scorecard and train nothing, epoch ms. */
export function findHoldoutStartMs(
  side: ScorecardSide,
  {
    nowMs,
    holdoutDays = HOLDOUT_DAYS,
    testedToMs,
  }: Pick<KaizenRunOptions, "nowMs" | "holdoutDays" | "testedToMs">,
): number {
  return Math.max(nowMs - holdoutDays * DAY_MS, testedToMs[side]);
}

/** What a challenge plays on engines, and whom it tells. */
interface ChallengeHooks {
  /** Absent: no gate G9. */
  readonly attacks?: AttackReplay;
  /** Absent: no gate G11. */
  readonly probe?: RandomStateProbe;
  /** Called before each scorecard. */
  readonly onSide?: (side: ScorecardSide) => void;
}

function challengeSide(
  side: ScorecardSide,
  evidence: FitRows,
  champion: ScoringConfig,
  { options, attacks, probe }: ChallengeHooks & { options: KaizenRunOptions },
): ScorecardFindings {
  const holdoutTo = findFirstRowAtOrAfter(evidence, options.nowMs);
  const holdoutFromMs = findHoldoutStartMs(side, options);
  const holdoutFrom = findFirstRowAtOrAfter(evidence, holdoutFromMs);
  const trainTo = findFirstRowAtOrAfter(evidence, holdoutFromMs - options.gapMs);
  const split = { trainTo, holdoutFrom, holdoutTo };
  const found = challengeWithSafeDenialThreshold({
    side,
    attacks,
    champion,
    options,
    challenge: (isBorderKept) =>
      challengeScorecard(evidence, champion, {
        side,
        usable: flagUsableColumns(side),
        ...split,
        isPilot: options.isPilot,
        isSignedOff: options.isSignedOff,
        isBrief: options.isBrief === true,
        isBorderKept,
        ...(probe && { probe: (own) => probe(side, champion, own, deriveSeed(options.id)) }),
      }),
  });
  const record: ScorecardFindings = {
    side,
    passed: found.passed,
    reason: found.reason,
    rows: countRunRows(side, evidence, champion, split),
    holdout_from_ms: holdoutFromMs,
    holdout_to_ms: options.nowMs,
    gates: found.gates,
    champion: champion[side],
  };
  const { challenger, holdout } = found;
  if (challenger === undefined || holdout === undefined) return record;
  if (found.lambda !== undefined) record.lambda = found.lambda;
  if (found.border !== undefined) record.denial_border = found.border;
  record.challenger = challenger;
  if (options.isBrief !== true) {
    record.bootstrap = runPigeonholeBootstrap(holdout, deriveSeed(options.id));
  }
  record.figures = collectRunFigures(holdout, evidence.rows, holdoutFrom, holdoutTo);
  return record;
}

/** Challenges both scorecards. Does not throw on any evidence. */
export function challengeBothScorecards(
  evidence: Record<ScorecardSide, FitRows>,
  champion: ScoringConfig,
  options: KaizenRunOptions,
  { attacks, probe, onSide }: ChallengeHooks = {},
): RunFindings {
  let played: PlayedAttacks | undefined;
  const replay = attacks && { ...attacks, play: () => (played ??= attacks.play()) };
  const parts = { options, ...(replay && { attacks: replay }), ...(probe && { probe }) };
  const sides = SCORECARD_SIDES.map((side) => {
    onSide?.(side);
    return challengeSide(side, evidence[side], champion, parts);
  });
  return buildFindings(sides, champion, `kaizen ${options.id}`);
}

/** The findings of both sides, with the config that they make where one passed. */
export function buildFindings(
  sides: ScorecardFindings[],
  champion: ScoringConfig,
  name: string,
): RunFindings {
  const passed = sides.filter((side) => side.passed && side.challenger !== undefined);
  const reason =
    passed.length > 0
      ? `all gates passed for ${passed.map(({ side }) => side).join(" and ")}`
      : sides.map(({ side, reason: why }) => `${side}: ${why}`).join("; ");
  const findings: RunFindings = { sides, reason, policy: GATE_POLICY };
  if (passed.length === 0) return findings;
  const models = Object.fromEntries(passed.map(({ side, challenger }) => [side, challenger]));
  return { ...findings, config: { ...champion, ...models, name } };
}
