// Assessments of an agent's texts: two masses in its row that fade by half-lives, one cap for the word
// of each asking tenant, and the two features that they give. Clean texts count nothing.
import { activeConfigNumber, configSlot, word } from "./config.ts";
import {
  FEATURE_HALLUCINATION,
  FEATURE_UNVERIFIED,
  LEG_FEATURES,
  PAIR_FAILURE,
  ROW_ASSESSED_AT,
  ROW_HALLUCINATED,
  ROW_UNVERIFIED,
  WORD_ASKER_CAP,
  WORD_LONG_HALF_LIFE,
} from "./layout.ts";
import { STATUS_FULL, STATUS_INVALID, STATUS_OK } from "./codes.ts";
import { halving } from "./numeric.ts";
import { findOrAddPair, pairEcho, setPairMass } from "./pairs.ts";
import { makeRoomForWord } from "./room.ts";
import { closeRow, findOrAddRow, findRow, openRow, ROW_ABSENT, rowAddress } from "./table.ts";
import { ASKER_MAX } from "./voices.ts";
import { roomUnder } from "./weight.ts";

/** Marks a tenant in the pair map: above all rows, below strangers and pools. */
const SOURCE_ASKER_BIT: u32 = 0x20000000;
const DAY_SECONDS: f64 = 86400.0;

/**
 * Folds one failed text. `unverified` is 0 for content found false, 1 for its sources. The word of an
 * asker fades as slowly as the masses of the row, so that patience adds nothing: no agent ever has
 * more of one asker than the cap. Returns a STATUS code.
 */
export function foldAssessment(
  agentId: u32,
  agentLength: u32,
  asker: u32,
  unverified: u32,
  timeMs: f64,
): i32 {
  const number = activeConfigNumber();
  if (number == 0 || unverified > 1 || asker > <u32>ASKER_MAX) return STATUS_INVALID;
  const config = configSlot(number);
  const source: u32 = SOURCE_ASKER_BIT | asker;
  let agent = findRow(agentId, agentLength);
  if (!makeRoomForWord(agent, agentLength, source)) return STATUS_FULL;
  if (agent == ROW_ABSENT) agent = findOrAddRow(agentId, agentLength);
  if (agent == ROW_ABSENT) return STATUS_FULL;
  const entry = findOrAddPair(agent, source);
  if (entry == 0) return STATUS_FULL;
  const halfLife = word(config, WORD_LONG_HALF_LIFE);
  const seconds = <u32>(timeMs / 1000.0);
  const said = pairEcho(entry, PAIR_FAILURE, seconds, halfLife);
  const room = roomUnder(word(config, WORD_ASKER_CAP), said, 1.0);
  if (room <= 0.0) return STATUS_OK;
  setPairMass(entry, PAIR_FAILURE, said + room, seconds);
  addMass(rowAddress(agent), unverified << 2, room, seconds, halfLife);
  return STATUS_OK;
}

/** Adds to one of the two masses, which lie side by side; what comes late counts as if in time. */
function addMass(row: u32, offset: u32, room: f64, seconds: u32, halfLife: f64): void {
  openRow(row);
  const last = load<u32>(row, ROW_ASSESSED_AT);
  const at = max(last, seconds);
  const kept = halving(<f64>(at - last) / DAY_SECONDS, halfLife);
  store<f32>(row, <f32>(<f64>load<f32>(row, ROW_HALLUCINATED) * kept), ROW_HALLUCINATED);
  store<f32>(row, <f32>(<f64>load<f32>(row, ROW_UNVERIFIED) * kept), ROW_UNVERIFIED);
  const fresh = room * halving(<f64>(at - seconds) / DAY_SECONDS, halfLife);
  const mass = <f64>load<f32>(row + offset, ROW_HALLUCINATED);
  store<f32>(row + offset, <f32>(mass + fresh), ROW_HALLUCINATED);
  store<u32>(row, at, ROW_ASSESSED_AT);
  closeRow(row);
}

/** Both features, of any agent with a row: n / (n + cap), n the mass as of now. */
export function readAssessments(config: u32, row: u32, nowMs: f64, out: u32): void {
  const at = load<u32>(row, ROW_ASSESSED_AT);
  if (at == 0) return;
  const days = max(0.0, nowMs / 1000.0 - <f64>at) / DAY_SECONDS;
  const kept = halving(days, word(config, WORD_LONG_HALF_LIFE));
  const cap = word(config, WORD_ASKER_CAP);
  const failed = <f64>load<f32>(row, ROW_HALLUCINATED) * kept;
  const cited = <f64>load<f32>(row, ROW_UNVERIFIED) * kept;
  store<f64>(out + ((LEG_FEATURES + FEATURE_HALLUCINATION) << 3), failed / (failed + cap));
  store<f64>(out + ((LEG_FEATURES + FEATURE_UNVERIFIED) << 3), cited / (cited + cap));
}
