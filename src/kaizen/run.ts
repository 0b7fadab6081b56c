// Kaizen run over the evidence of a service: both scorecards challenged, the findings as a record
// for people and programs. Pure: the same journal and champion give the same record.
import { createHash } from "node:crypto";
import type { ScoringConfig, ScoringModel } from "../engine/config.ts";
import { attackGate } from "./gates/attacks.ts";
import type { AttackCredibility, AttackRows } from "./gates/attacks.ts";
import { pigeonholeBootstrap } from "./model/bootstrap.ts";
import type { Bootstrap } from "./model/bootstrap.ts";
import { challenge } from "./challenge.ts";
import { GATE_POLICY } from "./gates/gate.ts";
import type { GatePolicy, GateResult } from "./gates/gate.ts";
import { rowAt } from "./model/holdout.ts";
import type { FitRows } from "./model/holdout.ts";
import { figuresOf } from "./model/figures.ts";
import type { Figures } from "./model/figures.ts";
import { scorecardColumns } from "./model/scorecard.ts";
import type { StateFindings } from "./gates/random-states.ts";

export const SIDES = ["check", "handshake"] as const;
export type Side = (typeof SIDES)[number];

const DAY_MS = 86_400_000;
/** Days that a holdout spans at most by default. */
const HOLDOUT_DAYS = 60;

export interface RunOptions {
  id: string;
  /** Time of the run, epoch ms; later evidence is ignored. */
  nowMs: number;
  holdoutDays?: number;
  /** True: a person agrees to a structural change beforehand. */
  isSignedOff: boolean;
  /** True: fewer failures suffice until the deployment has enough evidence. */
  isPilot: boolean;
  /** By scorecard: evidence up to here has been in a test and is spent. */
  testedToMs: Record<Side, number>;
  /** Training ends this long before the holdout: the 95th percentile of the settlement lag. */
  gapMs: number;
  /** Credibility during the attacks (gate G9); absent when it was not in force. */
  credibility?: AttackCredibility;
}

/** Plays a challenger on random states in a private engine (gate G6). */
export type Probe = (
  side: Side,
  champion: ScoringConfig,
  challenger: ScoringConfig,
  seed: number,
) => StateFindings;

/** Findings of one scorecard's challenge. */
export interface SideRecord {
  side: Side;
  passed: boolean;
  reason: string;
  rows: {
    training: number;
    holdout: number;
    /** Rows of both whose stakes were unknown before the outcome, counted as none. */
    without_stakes: number;
  };
  holdout_from_ms: number;
  holdout_to_ms: number;
  lambda?: number;
  gates: GateResult[];
  champion: ScoringModel;
  challenger?: ScoringModel;
  bootstrap?: Bootstrap;
  figures?: Figures;
}

/** Findings of a run; the promotion is decided on them and they are stored beside it. */
export interface Findings {
  sides: SideRecord[];
  /** The champion with every scorecard that passed; undefined when none did. */
  config?: ScoringConfig;
  reason: string;
  policy: GatePolicy;
}

/** Number of rows up to `to` whose stakes no decision could have known. */
function rowsWithoutStakes({ context }: FitRows, to: number): number {
  if (context === undefined) return 0;
  return context.stakesKnown.subarray(0, to).reduce((count, known) => count + 1 - known, 0);
}

/** Seed from the run's id, so that anyone can repeat the resampling. */
function seedOf(id: string): number {
  return createHash("sha256").update(id).digest().readUInt32LE(0);
}

function challengeSide(
  side: Side,
  evidence: FitRows,
  attacks: AttackRows | undefined,
  champion: ScoringConfig,
  options: RunOptions,
  probe: Probe | undefined,
): SideRecord {
  const holdoutTo = rowAt(evidence, options.nowMs);
  const fromMs = options.nowMs - (options.holdoutDays ?? HOLDOUT_DAYS) * DAY_MS;
  const holdoutFromMs = Math.max(fromMs, options.testedToMs[side]);
  const holdoutFrom = rowAt(evidence, holdoutFromMs);
  const trainTo = rowAt(evidence, holdoutFromMs - options.gapMs);
  const found = challenge(evidence, champion, {
    side,
    usable: scorecardColumns(side),
    trainTo,
    holdoutFrom,
    holdoutTo,
    isPilot: options.isPilot,
    isSignedOff: options.isSignedOff,
    ...(probe && { probe: (own) => probe(side, champion, own, seedOf(options.id)) }),
  });
  const record: SideRecord = {
    side,
    passed: found.passed,
    reason: found.reason,
    rows: {
      training: trainTo,
      holdout: holdoutTo - holdoutFrom,
      without_stakes: rowsWithoutStakes(evidence, holdoutTo),
    },
    holdout_from_ms: holdoutFromMs,
    holdout_to_ms: options.nowMs,
    gates: found.gates,
    champion: champion[side],
  };
  const { challenger, holdout } = found;
  if (challenger === undefined || holdout === undefined) return record;
  if (attacks !== undefined) {
    const { credibility } = options;
    const models = [champion[side], challenger] as const;
    const gate = attackGate(attacks, ...models, champion, GATE_POLICY, credibility);
    record.gates.splice(
      record.gates.findIndex(({ id }) => id === "G10"),
      0,
      gate,
    );
    if (!gate.passed && found.passed) record.reason = `G9 attacks: ${gate.sentence}`;
    record.passed &&= gate.passed;
  }
  if (found.lambda !== undefined) record.lambda = found.lambda;
  record.challenger = challenger;
  record.bootstrap = pigeonholeBootstrap(holdout, seedOf(options.id));
  record.figures = figuresOf(holdout, evidence.rows, holdoutFrom, holdoutTo);
  return record;
}

/** Challenges both scorecards. Does not throw on any evidence. */
export function kaizenRun(
  evidence: Record<Side, FitRows>,
  attacks: Partial<Record<Side, AttackRows>>,
  champion: ScoringConfig,
  options: RunOptions,
  onSide: (side: Side) => void = () => undefined,
  probe?: Probe,
): Findings {
  const sides = SIDES.map((side) => {
    onSide(side);
    return challengeSide(side, evidence[side], attacks[side], champion, options, probe);
  });
  const passed = sides.filter((side) => side.passed && side.challenger !== undefined);
  const reason =
    passed.length > 0
      ? `all gates passed for ${passed.map(({ side }) => side).join(" and ")}`
      : sides.map(({ side, reason: why }) => `${side}: ${why}`).join("; ");
  const findings: Findings = { sides, reason, policy: GATE_POLICY };
  if (passed.length === 0) return findings;
  const models = Object.fromEntries(passed.map(({ side, challenger }) => [side, challenger]));
  return { ...findings, config: { ...champion, ...models, name: `kaizen ${options.id}` } };
}
