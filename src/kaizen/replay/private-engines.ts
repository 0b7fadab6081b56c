// Private engines for gates G6 and G9: random states under two configs, the attack scripts on the replayed
// table, which is not usable afterwards, and a judge of their recordings under any weights.
import type { ScoringConfig } from "../../engine/config.ts";
import { createEngineMemory } from "../../engine/memory.ts";
import { openEngineReader } from "../../engine/reader.ts";
import { openEngineWriter } from "../../engine/writer.ts";
import { probeRandomStates } from "../gates/monotone.ts";
import type { RandomStateFindings } from "../gates/monotone.ts";
import type { ScorecardSide } from "../model/scorecard.ts";
import { computeConfigDigest, formatConfigVersion } from "../../engine/config.ts";
import type { TableReader } from "../../engine/reader.ts";
import type { LoggedInputs } from "../../engine/reading.ts";
import type { TableWriter } from "../../engine/writer.ts";
import type { AttackStandings } from "../gates/attacks/credibility.ts";
import type { AttackJudge, PlayedAttacks } from "../gates/attacks/gate.ts";
import { ATTACK_STAKES, INVENTED_AGENT_PREFIX, playAttacks } from "../gates/attacks/scripts.ts";
import type { AttackAgents } from "../gates/attacks/scripts.ts";

const PROBE_SEED = 0x7374617465n;
const VIEWER = "agent://state/viewer";

/** Ten thousand random states under two configs that differ in one scorecard. */
export function probeInPrivateEngine(
  side: ScorecardSide,
  champion: ScoringConfig,
  challenger: ScoringConfig,
  seed: number,
): RandomStateFindings {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, champion, PROBE_SEED);
  const reader = openEngineReader(memory, 1);
  const stage = {
    install: (config: ScoringConfig) => void writer.installConfig(config),
    fold: writer.fold.bind(writer),
    read: (subject: string, stakes: number, nowMs: number) =>
      side === "check"
        ? reader.check(subject, stakes, nowMs)
        : reader.handshake(VIEWER, subject, stakes, nowMs)[0],
  };
  return probeRandomStates(stage, champion, challenger, seed);
}

const JUDGE_SEED = 0x6a75646765n;

/** Table at the end of a replay, its memory owned by the caller. */
export interface AttackTable {
  writer: TableWriter;
  reader: TableReader;
  attackAgents: AttackAgents;
}

/**
 * Plays the scripts after the replayed history. A deployment with seeds gets standings that are up
 * to date before the attack, and again after its first wave, as the service would write them: an
 * attack takes longer than an hour.
 */
export function playAttacksOnTable(
  { writer, reader, attackAgents }: AttackTable,
  standings?: Pick<AttackStandings, "add" | "batch" | "believed">,
): PlayedAttacks {
  const isInForce = () => reader.areStandingsInForce;
  if (attackAgents.frauds.length < 2) {
    return { credibility: { isInForce: isInForce(), believed: 0 } };
  }
  const refresh = () => {
    const written = standings?.batch();
    if (written !== undefined) writer.applyStandings(written);
  };
  const logged = (isHandshake: boolean, isKnown: boolean, stakes: number): LoggedInputs => ({
    inputs: reader.viewLegInputs(0).slice(),
    isKnown,
    isHandshake,
    stakes,
  });
  refresh();
  const tapes = playAttacks(
    {
      fold: (outcome) => {
        writer.fold(outcome);
        standings?.add(outcome);
      },
      refresh,
      read: (legs, subject, nowMs) => {
        for (const stakes of ATTACK_STAKES) {
          const { isKnown } = reader.check(subject, stakes, nowMs);
          legs.check.push(logged(false, isKnown, stakes));
          const [leg] = reader.handshake(`${INVENTED_AGENT_PREFIX}viewer`, subject, stakes, nowMs);
          legs.handshake.push(logged(true, leg.isKnown, stakes));
        }
      },
    },
    attackAgents,
  );
  return { tapes, credibility: { isInForce: isInForce(), believed: standings?.believed ?? 0 } };
}

/** A judge of taped legs: the engine itself, with every config it is asked for. */
export function openAttackJudge(first: ScoringConfig): AttackJudge {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, first, JUDGE_SEED);
  const reader = openEngineReader(memory, 1);
  const names = new WeakMap<ScoringConfig, string>();
  return (config, leg) => {
    let name = names.get(config);
    if (name === undefined) names.set(config, (name = buildEngineKey(config)));
    const reading = reader.rejudge(leg, name);
    if (reading !== undefined) return reading;
    // Not yet installed, or long ago: the engine holds a few configs at a time.
    writer.installConfig(config);
    return reader.rejudge(leg, name)!;
  };
}

const buildEngineKey = (config: ScoringConfig): string =>
  formatConfigVersion(computeConfigDigest(config));
