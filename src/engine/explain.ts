// Reads one agent's copied row for `GET /v1/agents/{id}`: counters decayed to now and the points of
// each feature. Off the hot path: plain and readable before fast.
import { readClusterNumber } from "../contract/standings.ts";
import { DAY_MS } from "../contract/units.ts";
import {
  CONCENTRATION_SHIFT,
  CONFIG_BASE,
  CONFIG_SLOTS,
  CONFIG_STRIDE,
  CONFIG_WORD_COUNT,
  CONFIG_WORDS,
  FLAG_CREDIBILITY,
  HEADER_BASE,
  HEADER_STANDINGS,
  LEG_FEATURES,
  LEG_MEAN,
  LEG_SD,
  LEG_WORDS,
  MODEL_MEAN,
  MODEL_MEAN_REFERENCE,
  MODEL_REFERENCES,
  MODEL_SD_REFERENCE,
  MODEL_WEIGHTS,
  ROW_ASSESSED_AT,
  ROW_CAPPED,
  ROW_CLUSTER,
  ROW_CREDIBILITY,
  ROW_FAILED_AT,
  ROW_FAILURE_LONG,
  ROW_FAILURE_SHORT,
  ROW_FIRST_AT,
  ROW_FLAGS,
  ROW_HALLUCINATED,
  ROW_HEARD_AT,
  ROW_OUTCOMES,
  ROW_REPORTED,
  ROW_STAKES_PROVEN,
  ROW_STRIDE,
  ROW_SUBJECT_TIME,
  ROW_SUCCESS_LONG,
  ROW_SUCCESS_SHORT,
  ROW_UNVERIFIED,
  SCRATCH_BASE,
  SCRATCH_LEG_A,
  SCRATCH_ROW_A,
  SCRATCH_STRIDE,
  WORD_CAUTION,
  WORD_CREDIBILITY_MIN,
  WORD_FACTOR,
  WORD_LONG_HALF_LIFE,
  WORD_MODEL_CHECK,
  WORD_SHORT_HALF_LIFE,
  WORD_STAKES_HALF_LIFE,
} from "../../assembly/layout.ts";
import { FEATURES } from "../contract/vocabulary.ts";
import type { AgentScoreDetails, AgentScore } from "./reading.ts";

function viewConfigWords(memory: WebAssembly.Memory, number: number): Float64Array {
  const slot = CONFIG_BASE + ((number - 1) % CONFIG_SLOTS) * CONFIG_STRIDE;
  return new Float64Array(memory.buffer, slot + CONFIG_WORDS, CONFIG_WORD_COUNT);
}

/** Points that each part of the score adds against its reference; below zero lowers the score. */
function computeFeaturePoints(
  config: Float64Array,
  leg: Float64Array,
): AgentScoreDetails["features"] {
  const factor = config[WORD_FACTOR]!;
  const at = WORD_MODEL_CHECK;
  const mean = leg[LEG_MEAN]!;
  const sd = leg[LEG_SD]!;
  const meanShift = config[at + MODEL_MEAN]! * (mean - config[at + MODEL_MEAN_REFERENCE]!);
  const sdShift = config[WORD_CAUTION]! * (sd - config[at + MODEL_SD_REFERENCE]!);
  const points = [
    { name: "track_record", value: mean, points: -factor * meanShift },
    { name: "uncertainty", value: sd, points: -factor * sdShift },
  ];
  FEATURES.forEach((name, j) => {
    const weight = config[at + MODEL_WEIGHTS + j]!;
    if (weight === 0) return;
    const value = leg[LEG_FEATURES + j]!;
    const shift = weight * (value - config[at + MODEL_REFERENCES + j]!);
    points.push({ name, value, points: -factor * shift });
  });
  return points;
}

type ReporterStanding = Pick<
  AgentScoreDetails,
  "flags" | "credibility" | "cluster" | "isInRing" | "areStandingsInForce" | "reporterWeight"
>;

/** Standing as a reporter, and the weight that the fold gives it (assembly/fold.ts). */
function readStanding(
  memory: WebAssembly.Memory,
  config: Float64Array,
  row: DataView | undefined,
): ReporterStanding {
  const header = new Uint32Array(memory.buffer, HEADER_BASE + HEADER_STANDINGS, 1);
  const areStandingsInForce = header[0] !== 0;
  // The shares of reporter concentration lie above the flags.
  const flags = (row?.getUint32(ROW_FLAGS, true) ?? 0) & ((1 << CONCENTRATION_SHIFT) - 1);
  const isKnown = (flags & FLAG_CREDIBILITY) !== 0;
  const credibility = isKnown ? (row?.getFloat32(ROW_CREDIBILITY, true) ?? 0) : 0;
  const rho = Math.min(1, Math.max(config[WORD_CREDIBILITY_MIN]!, credibility));
  const stored = row?.getUint32(ROW_CLUSTER, true) ?? 0;
  const cluster = readClusterNumber(stored);
  const isInRing = cluster !== stored;
  const reporterWeight = areStandingsInForce ? rho : 1;
  return { flags, credibility, cluster, isInRing, areStandingsInForce, reporterWeight };
}

/** Adds counters and points to a reading made by `check` in the same scratch slot. */
export function buildAgentScoreDetails(
  memory: WebAssembly.Memory,
  { slot, hasRow }: { readonly slot: number; readonly hasRow: boolean },
  reading: AgentScore,
  nowMs: number,
): AgentScoreDetails {
  const scratch = SCRATCH_BASE + slot * SCRATCH_STRIDE;
  const leg = new Float64Array(memory.buffer, scratch + SCRATCH_LEG_A, LEG_WORDS);
  const config = viewConfigWords(memory, reading.configNumber);
  const row = new DataView(memory.buffer, scratch + SCRATCH_ROW_A, ROW_STRIDE);
  const lastOutcomeMs = hasRow ? row.getFloat64(ROW_SUBJECT_TIME, true) : 0;
  const daysSince = (timeMs: number) => (timeMs > 0 ? Math.max(0, nowMs - timeMs) / DAY_MS : 0);
  const since = (timeMs: number, offset: number, halfLifeWord: number) =>
    hasRow ? row.getFloat32(offset, true) * 2 ** (-daysSince(timeMs) / config[halfLifeWord]!) : 0;
  const decayed = (offset: number, halfLifeWord: number) =>
    since(lastOutcomeMs, offset, halfLifeWord);
  const lastAssessedMs = (hasRow ? row.getUint32(ROW_ASSESSED_AT, true) : 0) * 1000;
  const failed = (offset: number) => since(lastAssessedMs, offset, WORD_LONG_HALF_LIFE);
  const count = (offset: number) => (hasRow ? row.getUint32(offset, true) : 0);
  const cappedFailures = hasRow ? row.getUint16(ROW_CAPPED, true) : 0;
  return {
    ...reading,
    // Capped ones were reported as well: they move nothing, but none is lost.
    outcomeCount: count(ROW_OUTCOMES) + cappedFailures,
    reportedCount: count(ROW_REPORTED),
    successes90: decayed(ROW_SUCCESS_LONG, WORD_LONG_HALF_LIFE),
    failures90: decayed(ROW_FAILURE_LONG, WORD_LONG_HALF_LIFE),
    successes14: decayed(ROW_SUCCESS_SHORT, WORD_SHORT_HALF_LIFE),
    failures14: decayed(ROW_FAILURE_SHORT, WORD_SHORT_HALF_LIFE),
    firstSeenMs: count(ROW_FIRST_AT) * 1000,
    lastOutcomeMs,
    lastFailureMs: count(ROW_FAILED_AT) * 1000,
    heardAtMs: count(ROW_HEARD_AT) * 1000,
    cappedFailures,
    stakesProven: decayed(ROW_STAKES_PROVEN, WORD_STAKES_HALF_LIFE),
    failedTexts: [failed(ROW_HALLUCINATED), failed(ROW_UNVERIFIED)],
    lastAssessedMs,
    ...readStanding(memory, config, hasRow ? row : undefined),
    features: computeFeaturePoints(config, leg),
  };
}
