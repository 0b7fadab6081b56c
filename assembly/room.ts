// Room in the table: what a record adds to it, whether that fits below the end of the heap, and
// growth ahead of it. A record that does not fit changes nothing: the same journal gives the same
// table under the same end, however full it is.
import { activeConfigNumber, configSlot, word } from "./config.ts";
import {
  HEADER_STANDINGS,
  HEADER_BASE,
  POOL_CLUSTER_BIT,
  POOL_UNTRUSTED,
  ROW_CLUSTER,
  SCRATCH_BASE,
  SCRATCH_ID_A,
  SCRATCH_ID_B,
  SCRATCH_STRIDE,
  SOURCE_STRANGER_BIT,
  WORD_UNTRUSTED_BELOW,
} from "./layout.ts";
import { incidentSource } from "./incidents.ts";
import { arenaNeed, heapLeft } from "./memory.ts";
import { findPair, pairMap, pairRoom, pairsNeed, reservePairs } from "./pairs.ts";
import { findRow, reserveRows, ROW_ABSENT, rowAddress, rowsNeed } from "./table.ts";
import { credibilityOf } from "./weight.ts";
import { VOICE_STRANGER } from "./voices.ts";

/** Entries that one outcome may add: its reporter's, the pool's, the cluster's and its incident's. */
export const PAIRS_PER_OUTCOME: u32 = 4;

/** Whether so many rows with their identifiers, and so many pairs, fit below the end of the heap. */
export function hasRoom(rows: u64, identifierBytes: u64, pairs: u64): bool {
  return rowsNeed(rows) + arenaNeed(identifierBytes) + pairsNeed(pairs) <= heapLeft();
}

/** Writer: makes all of that room, or none of it. */
export function makeRoom(rows: u32, identifierBytes: u32, pairs: u32): bool {
  if (!hasRoom(rows, identifierBytes, pairs)) return false;
  return (rows == 0 || reserveRows(rows, identifierBytes)) && reservePairs(pairs);
}

/**
 * Entries that an outcome would add to the pair map. `source` is a row or a stranger; `incident` is 0
 * for a success, or where the failure names none.
 */
export function pairsMissing(
  config: u32,
  subject: u32,
  source: u32,
  isStranger: bool,
  signature: i32,
  incident: u32,
): u32 {
  let named: u32 = incident != 0 ? 1 : 0;
  if (named != 0 && subject != ROW_ABSENT) {
    named = missingPool(pairMap(), subject, incidentSource(incident));
  }
  return named + sourcesMissing(config, subject, source, isStranger, signature);
}

function sourcesMissing(
  config: u32,
  subject: u32,
  source: u32,
  isStranger: bool,
  signature: i32,
): u32 {
  const isOn = load<u32>(HEADER_BASE, HEADER_STANDINGS) != 0;
  if (subject == ROW_ABSENT || source == ROW_ABSENT) return isOn ? PAIRS_PER_OUTCOME - 1 : 1;
  const map = pairMap();
  const missing: u32 = findPair(map, subject, source) == 0 ? 1 : 0;
  if (!isOn) return missing;
  if (isStranger) return missing + missingPool(map, subject, POOL_UNTRUSTED);
  const reporter = rowAddress(source);
  const rho = credibilityOf(config, reporter, signature);
  const cluster = load<u32>(reporter, ROW_CLUSTER);
  const isPooled = rho < word(config, WORD_UNTRUSTED_BELOW);
  const pool = isPooled ? missingPool(map, subject, POOL_UNTRUSTED) : 0;
  const ring = cluster != 0 ? missingPool(map, subject, POOL_CLUSTER_BIT | cluster) : 0;
  return missing + pool + ring;
}

function missingPool(map: u64, subject: u32, pool: u32): u32 {
  return findPair(map, subject, pool) == 0 ? 1 : 0;
}

/**
 * Writer: makes the room that one outcome needs; false when it does not fit. Costs nothing but a
 * look at the map's fill while both rows are there.
 */
export function makeRoomForOutcome(
  config: u32,
  subject: u32,
  subjectLength: u32,
  reporter: u32,
  reporterLength: u32,
  signature: i32,
  incident: u32,
): bool {
  const rows = newRow(subject) + newRow(reporter);
  if (rows == 0 && pairRoom() >= PAIRS_PER_OUTCOME) return true;
  const bytes = newRow(subject) * subjectLength + newRow(reporter) * reporterLength;
  // Exactly what `needOf` says: what was admitted by it fits. A full map still takes what adds
  // nothing to it.
  const pairs = pairsMissing(config, subject, reporter, false, signature, incident);
  return makeRoom(rows, bytes, pairs);
}

function newRow(row: u32): u32 {
  return row == ROW_ABSENT ? 1 : 0;
}

/** The same for an outcome of a stranger (`source`), about a subject with a row or without. */
export function makeRoomForStranger(
  config: u32,
  subject: u32,
  subjectLength: u32,
  source: u32,
  incident: u32,
): bool {
  const rows = newRow(subject);
  if (rows == 0 && pairRoom() >= PAIRS_PER_OUTCOME) return true;
  const pairs = pairsMissing(config, subject, source, true, 0, incident);
  return makeRoom(rows, rows * subjectLength, pairs);
}

/** The same for one word of `source` about an agent, beside outcomes. */
export function makeRoomForWord(agent: u32, length: u32, source: u32): bool {
  const rows = newRow(agent);
  if (rows == 0 && pairRoom() > 0) return true;
  if (makeRoom(rows, rows * length, 1)) return true;
  return rows == 0 && findPair(pairMap(), agent, source) != 0;
}

/**
 * Writer: what the outcome described by the same arguments would add: number of rows, and of pairs
 * times 256.
 */
export function needOf(
  slot: u32,
  subjectLength: u32,
  reporterLength: u32,
  signature: i32,
  voice: u32,
  incident: u32,
): u32 {
  const scratch = SCRATCH_BASE + slot * SCRATCH_STRIDE;
  const subject = findRow(scratch + SCRATCH_ID_A, subjectLength);
  const isStranger = voice >= <u32>VOICE_STRANGER;
  const source = isStranger
    ? SOURCE_STRANGER_BIT | voice
    : findRow(scratch + SCRATCH_ID_B, reporterLength);
  const rows = (subject == ROW_ABSENT ? 1 : 0) + (source == ROW_ABSENT ? 1 : 0);
  const config = configSlot(activeConfigNumber());
  return rows | (pairsMissing(config, subject, source, isStranger, signature, incident) << 8);
}

/** Whether so many rows, bytes of their identifiers, and pairs fit into the table (1 or 0). */
export function hasRoomFor(rows: u32, identifierBytes: f64, pairs: u32): i32 {
  return hasRoom(rows, <u64>identifierBytes, pairs) ? 1 : 0;
}
