// Exports of the data plane. Callers put identifier bytes into their thread's scratch, call once,
// and read one fixed result region. No strings, no objects, no imports but the memory.
import { foldAssessment } from "./assessments.ts";
import { anchorBase } from "./base-rate.ts";
import { activeConfigNumber, configSlot, isConfigIntact } from "./config.ts";
import { foldOutcome } from "./fold.ts";
import { countedShare } from "./incidents.ts";
import { STATUS_FULL, STATUS_INVALID, STATUS_OK } from "./codes.ts";
import {
  CONFIG_FLAGS,
  CONFIG_NUMBER,
  CONFIG_STRIDE,
  HEADER_BASE,
  HEADER_CONFIG_COUNT,
  HEADER_HEAP_TOP,
  HEADER_MAGIC,
  HEADER_OVERFLOW,
  HEADER_ROW_COUNT,
  HEADER_SEED,
  HEADER_STAKES_HIGH,
  HEADER_STANDINGS,
  HEADER_VERSION,
  HEAP_BASE,
  ID_BYTES_MAX,
  LAYOUT_MAGIC,
  LAYOUT_VERSION,
  LEG_CONFIG,
  LEG_INTERNAL,
  ROW_CLUSTER,
  ROW_CREDIBILITY,
  ROW_FLAGS,
  SCRATCH_BASE,
  SCRATCH_ID_A,
  SCRATCH_ID_B,
  SCRATCH_LEG_A,
  SCRATCH_LEG_B,
  SCRATCH_RANGE,
  SCRATCH_ROW_A,
  SCRATCH_ROW_B,
  SCRATCH_STRIDE,
  STANDING_FLAGS,
  WORD_MODEL_CHECK,
  WORD_MODEL_HANDSHAKE,
} from "./layout.ts";
import { createPairs, findPair, pairMap } from "./pairs.ts";
import { hasRoomFor, needOf } from "./room.ts";
import { judgeLeg, scoreLeg } from "./score.ts";
import {
  closeRow,
  copyRow,
  copySubject,
  createIndex,
  findOrAddRow,
  findRow,
  openRow,
} from "./table.ts";
import { ROW_ABSENT, rowAddress } from "./table.ts";

/** Counts what found no room; returns the same status. */
function counted(status: i32): i32 {
  if (status == STATUS_FULL) {
    store<u32>(HEADER_BASE, load<u32>(HEADER_BASE, HEADER_OVERFLOW) + 1, HEADER_OVERFLOW);
  }
  return status;
}

export { countedShare, hasRoomFor, needOf };

function scratchOf(slot: u32): u32 {
  return SCRATCH_BASE + slot * SCRATCH_STRIDE;
}

/** Writer, once per memory: header, empty index, empty pair map. */
export function initialise(seed: u64): i32 {
  if (load<u32>(HEADER_BASE, HEADER_MAGIC) == LAYOUT_MAGIC) return STATUS_INVALID;
  store<u32>(HEADER_BASE, LAYOUT_VERSION, HEADER_VERSION);
  store<u64>(HEADER_BASE, seed, HEADER_SEED);
  store<u32>(HEADER_BASE, HEAP_BASE, HEADER_HEAP_TOP);
  if (!createIndex() || !createPairs()) return STATUS_INVALID;
  atomic.store<u32>(HEADER_BASE, LAYOUT_MAGIC, HEADER_MAGIC);
  return STATUS_OK;
}

/** Writer: address of the config slot to fill next; its old content is invalidated first. */
export function beginConfig(): u32 {
  const slot = configSlot(activeConfigNumber() + 1);
  atomic.store<u32>(slot, 0, CONFIG_NUMBER);
  memory.fill(slot + CONFIG_FLAGS, 0, CONFIG_STRIDE - CONFIG_FLAGS);
  return slot;
}

/** Writer: makes the filled slot the active config. Returns its number. */
export function commitConfig(): u32 {
  const number = activeConfigNumber() + 1;
  atomic.store<u32>(configSlot(number), number, CONFIG_NUMBER);
  atomic.store<u32>(HEADER_BASE, number, HEADER_CONFIG_COUNT);
  anchorBase(configSlot(number));
  return number;
}

/**
 * Writer: folds one outcome; identifiers are in SCRATCH_ID_A (subject) and _B (reporter). `voice` is
 * a VOICE_*; from VOICE_STRANGER on, the reporter is not looked at. `hourMs` and `incident` are what
 * incidents go by (assembly/incidents.ts).
 */
export function fold(
  slot: u32,
  subjectLength: u32,
  reporterLength: u32,
  failure: i32,
  stakes: f64,
  grade: i32,
  signature: i32,
  voice: u32,
  timeMs: f64,
  hourMs: f64,
  incident: u32,
): i32 {
  if (max(subjectLength, reporterLength) > <u32>ID_BYTES_MAX) return STATUS_INVALID;
  const scratch = scratchOf(slot);
  return counted(
    foldOutcome(
      scratch + SCRATCH_ID_A,
      subjectLength,
      scratch + SCRATCH_ID_B,
      reporterLength,
      failure,
      stakes,
      grade,
      signature,
      voice,
      timeMs,
      hourMs,
      incident,
    ),
  );
}

/**
 * Writer: folds one failed text of the agent in SCRATCH_ID_A; `unverified` is 1 where its sources
 * failed, 0 where its content did.
 */
export function assess(slot: u32, length: u32, asker: u32, unverified: u32, timeMs: f64): i32 {
  if (length > <u32>ID_BYTES_MAX) return STATUS_INVALID;
  const agent = scratchOf(slot) + SCRATCH_ID_A;
  return counted(foldAssessment(agent, length, asker, unverified, timeMs));
}

function scoreRow(config: u32, number: u32, row: u32, copy: u32, stakes: f64, now: f64): void {
  const out = copy - SCRATCH_ROW_A + SCRATCH_LEG_A;
  if (row != ROW_ABSENT) copySubject(row, copy);
  const present = row != ROW_ABSENT ? copy : 0;
  scoreLeg(config, number, WORD_MODEL_CHECK, present, 0, 0, stakes, now, out);
}

/** Scores the agent in SCRATCH_ID_A into SCRATCH_LEG_A. Returns its row, -1 when unknown. */
export function check(slot: u32, length: u32, stakes: f64, nowMs: f64): i32 {
  const scratch = scratchOf(slot);
  const row = findRow(scratch + SCRATCH_ID_A, length);
  while (true) {
    const number = activeConfigNumber();
    const config = configSlot(number);
    scoreRow(config, number, row, scratch + SCRATCH_ROW_A, stakes, nowMs);
    if (isConfigIntact(config, number)) return <i32>row;
  }
}

function scorePair(
  config: u32,
  number: u32,
  subject: u32,
  subjectCopy: u32,
  viewer: u32,
  viewerCopy: u32,
  stakes: f64,
  nowMs: f64,
  out: u32,
): void {
  const row = subject != ROW_ABSENT ? subjectCopy : 0;
  const view = viewer != ROW_ABSENT ? viewerCopy : 0;
  while (true) {
    const map = pairMap();
    // The subject's own outcomes, as a reporter, about the viewer.
    const entry = row != 0 && view != 0 ? findPair(map, viewer, subject) : 0;
    scoreLeg(config, number, WORD_MODEL_HANDSHAKE, row, view, entry, stakes, nowMs, out);
    if (pairMap() == map) return;
  }
}

/**
 * Scores both directions. SCRATCH_ID_A is the initiator, _B the counterparty. SCRATCH_LEG_A gets
 * a_to_b (scores the counterparty as the initiator sees it), SCRATCH_LEG_B gets b_to_a.
 */
export function handshake(
  slot: u32,
  initiatorLength: u32,
  counterpartyLength: u32,
  stakes: f64,
  nowMs: f64,
): void {
  const base = scratchOf(slot);
  const a = findRow(base + SCRATCH_ID_A, initiatorLength);
  const b = findRow(base + SCRATCH_ID_B, counterpartyLength);
  const rowA = base + SCRATCH_ROW_A;
  const rowB = base + SCRATCH_ROW_B;
  while (true) {
    const number = activeConfigNumber();
    const config = configSlot(number);
    if (a != ROW_ABSENT) copyRow(a, rowA);
    if (b != ROW_ABSENT) copyRow(b, rowB);
    scorePair(config, number, b, rowB, a, rowA, stakes, nowMs, base + SCRATCH_LEG_A);
    scorePair(config, number, a, rowA, b, rowB, stakes, nowMs, base + SCRATCH_LEG_B);
    if (isConfigIntact(config, number)) return;
  }
}

/**
 * Judges the leg in SCRATCH_LEG_A again, from its inputs alone, under the config `number`. `model`
 * is a WORD_MODEL_*. Returns 0 when that config is no longer (or not yet) in its slot.
 */
export function rejudge(slot: u32, number: u32, model: u32, stakes: f64): i32 {
  const config = configSlot(number);
  const out = scratchOf(slot) + SCRATCH_LEG_A;
  store<f64>(out + (LEG_CONFIG << 3), <f64>number);
  judgeLeg(config, model, stakes, out);
  return isConfigIntact(config, number) ? 1 : 0;
}

/**
 * Internal scores of `count` rows from `first`, as f64 words at SCRATCH_RANGE (at most
 * RANGE_ROWS_MAX). Returns how many were written.
 */
export function scoreRange(slot: u32, first: u32, count: u32, nowMs: f64): u32 {
  const scratch = scratchOf(slot);
  const rows = atomic.load<u32>(HEADER_BASE, HEADER_ROW_COUNT);
  const end = min(first + count, rows);
  const number = activeConfigNumber();
  const config = configSlot(number);
  let written: u32 = 0;
  for (let row = first; row < end; row++) {
    scoreRow(config, number, row, scratch + SCRATCH_ROW_A, 0.0, nowMs);
    const internal = load<f64>(scratch + SCRATCH_LEG_A + (LEG_INTERNAL << 3));
    store<f64>(scratch + SCRATCH_RANGE + (written << 3), internal);
    written += 1;
  }
  return written;
}

/** Row number of the identifier in SCRATCH_ID_A, -1 when unknown. */
export function find(slot: u32, length: u32): i32 {
  return <i32>findRow(scratchOf(slot) + SCRATCH_ID_A, length);
}

/** Copies a row for explanation into SCRATCH_ROW_A. */
export function copy(slot: u32, row: u32): void {
  copyRow(row, scratchOf(slot) + SCRATCH_ROW_A);
}

/**
 * Writer: rules of a credibility batch for all reporters. `isInForce` 0 makes every reporter count
 * fully again; `stakesHigh` is the upper end of phi, 0 for the config's.
 */
export function setStandings(isInForce: u32, stakesHigh: f64): void {
  store<u32>(HEADER_BASE, isInForce, HEADER_STANDINGS);
  store<f64>(HEADER_BASE, stakesHigh, HEADER_STAKES_HIGH);
}

/**
 * Writer: batch-written standing of the agent in SCRATCH_ID_A. Only STANDING_FLAGS are replaced:
 * other marks of the row stay.
 */
export function setStanding(
  slot: u32,
  length: u32,
  flags: u32,
  credibility: f32,
  cluster: u32,
): i32 {
  const row = findOrAddRow(scratchOf(slot) + SCRATCH_ID_A, length);
  if (row == ROW_ABSENT) return counted(STATUS_FULL);
  const record = rowAddress(row);
  openRow(record);
  const others = load<u32>(record, ROW_FLAGS) & ~(<u32>STANDING_FLAGS);
  store<u32>(record, others | (flags & <u32>STANDING_FLAGS), ROW_FLAGS);
  store<f32>(record, credibility, ROW_CREDIBILITY);
  store<u32>(record, cluster, ROW_CLUSTER);
  closeRow(record);
  return STATUS_OK;
}

/**
 * Writer: sets or clears one mark (a FLAG_* outside STANDING_FLAGS) of the agent in SCRATCH_ID_A;
 * an unknown agent gets a row.
 */
export function setMark(slot: u32, length: u32, mark: u32, isSet: bool): i32 {
  const row = findOrAddRow(scratchOf(slot) + SCRATCH_ID_A, length);
  if (row == ROW_ABSENT) return counted(STATUS_FULL);
  const record = rowAddress(row);
  const others = load<u32>(record, ROW_FLAGS) & ~mark;
  openRow(record);
  store<u32>(record, isSet ? others | mark : others, ROW_FLAGS);
  closeRow(record);
  return STATUS_OK;
}
