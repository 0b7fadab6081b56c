// Agent table: identifier -> row. Open addressing over 64-bit slots (hash tag | row + 1), rows in
// chunks that never move, identifiers in an arena. One writer; any number of readers.
//
// INVARIANT (publication): a row and its identifier are complete before its slot is stored, and an
// index is complete before HEADER_INDEX names it. Both stores are atomic.
import { equalBytes, hashBytes } from "./hash.ts";
import {
  CHUNKS_MAX,
  CHUNK_DIRECTORY_BASE,
  CHUNK_ROWS_LOG2,
  HEADER_BASE,
  HEADER_BYTES_INDEX,
  HEADER_INDEX,
  HEADER_ROW_COUNT,
  HEADER_SEED,
  INDEX_LOAD_PERCENT,
  INDEX_LOG2_MIN,
  ROW_CREDIBILITY,
  ROW_FAILED_AT,
  ROW_HALLUCINATED,
  ROW_ID_LENGTH,
  ROW_ID_PTR,
  ROW_LATEST,
  ROW_MEAN_A,
  ROW_OUTCOMES,
  ROW_PRAISE,
  ROW_SEEN_DAY,
  ROW_SEQ,
  ROW_SHOCK_AT,
  ROW_STRIDE,
  ROW_SUBJECT_TIME,
  ROW_SUCCESS_LONG,
  ROW_SUCCESS_SHORT,
  ROW_VARIANCE_A,
  ROW_VOICES,
} from "./layout.ts";
import { ALIGN_BYTES, allocate, release, reserveIdentifiers, storeIdentifier } from "./memory.ts";

export const ROW_ABSENT: u32 = 0xffffffff;
/** Bytes that memory moves at once. */
const CACHE_LINE: usize = 64;
const CHUNK_MASK: u32 = (1 << CHUNK_ROWS_LOG2) - 1;
const CHUNK_BYTES: u64 = (<u64>ROW_STRIDE) << CHUNK_ROWS_LOG2;
/**
 * Looks of a reader that meets a writer mid-row, some microseconds: far beyond any write that runs. A
 * writer that takes longer was put to sleep inside the row, and a reader that kept its core would keep
 * it from waking: beyond that the reader sleeps between two looks.
 */
const SPINS_MAX: i32 = 1 << 10;
const PAUSE_NS: i64 = 50_000;
/** Some two seconds or more. A writer that is gone for good ends the service; then it reads on regardless. */
const PAUSES_MAX = 20_000;
const LOOKS_MAX: i32 = SPINS_MAX + PAUSES_MAX;

/** Address of a row's record. The row must exist. */
export function rowAddress(row: u32): u32 {
  const chunk = load<u32>(CHUNK_DIRECTORY_BASE + (row >> CHUNK_ROWS_LOG2) * 4);
  return chunk + (row & CHUNK_MASK) * ROW_STRIDE;
}

/** The row of an identifier, or ROW_ABSENT. Safe beside a writing thread. */
export function findRow(id: u32, length: u32): u32 {
  const hash = hashBytes(id, length, load<u64>(HEADER_BASE, HEADER_SEED));
  while (true) {
    const index = atomic.load<u64>(HEADER_BASE, HEADER_INDEX);
    const row = probe(index, hash, id, length);
    // A hit was compared byte by byte with a published row: it is right even if the index was
    // replaced. A miss counts only if the index probed is still the current one.
    if (row != ROW_ABSENT || atomic.load<u64>(HEADER_BASE, HEADER_INDEX) == index) return row;
  }
}

function probe(index: u64, hash: u64, id: u32, length: u32): u32 {
  const address = <u32>(index >> 8);
  const mask: u32 = ((<u32>1) << (<u32>(index & 0xff))) - 1;
  const tag: u32 = <u32>(hash >> 32);
  const rows = atomic.load<u32>(HEADER_BASE, HEADER_ROW_COUNT);
  let slot: u32 = <u32>hash & mask;
  for (let probes: u32 = 0; probes <= mask; probes++) {
    const word = atomic.load<u64>(address + slot * 8);
    if (word == 0) return ROW_ABSENT;
    if (<u32>(word >> 32) == tag) {
      const row: u32 = <u32>word - 1;
      if (row < rows) {
        const record = rowAddress(row);
        // Asks for the rest of the row now, so that it is under way while the identifier, which
        // lies elsewhere, is fetched and compared. Atomic, so that no optimiser drops the loads.
        atomic.load<u64>(record, CACHE_LINE);
        atomic.load<u64>(record, 2 * CACHE_LINE);
        atomic.load<u64>(record, ROW_PRAISE);
        if (<u32>load<u16>(record, ROW_ID_LENGTH) == length) {
          if (equalBytes(load<u32>(record, ROW_ID_PTR), id, length)) return row;
        }
      }
    }
    slot = (slot + 1) & mask;
  }
  return ROW_ABSENT;
}

/** Writer: the row of an identifier, made when new. ROW_ABSENT when memory is full. */
export function findOrAddRow(id: u32, length: u32): u32 {
  const hash = hashBytes(id, length, load<u64>(HEADER_BASE, HEADER_SEED));
  const found = probe(load<u64>(HEADER_BASE, HEADER_INDEX), hash, id, length);
  if (found != ROW_ABSENT) return found;
  const row = load<u32>(HEADER_BASE, HEADER_ROW_COUNT);
  const index = load<u64>(HEADER_BASE, HEADER_INDEX);
  const slots: u64 = (<u64>1) << (index & 0xff);
  if ((<u64>row + 1) * 100 > slots * INDEX_LOAD_PERCENT && !growIndex()) return ROW_ABSENT;
  if (!ensureChunk(row)) return ROW_ABSENT;
  const copy = storeIdentifier(id, length);
  if (copy == 0) return ROW_ABSENT;
  const record = rowAddress(row);
  store<u32>(record, copy, ROW_ID_PTR);
  store<u16>(record, <u16>length, ROW_ID_LENGTH);
  atomic.store<u32>(HEADER_BASE, row + 1, HEADER_ROW_COUNT);
  insertSlot(load<u64>(HEADER_BASE, HEADER_INDEX), hash, row);
  return row;
}

/** Bytes of the heap that so many further rows take, but for their identifiers. */
export function rowsNeed(rows: u64): u64 {
  const count = <u64>load<u32>(HEADER_BASE, HEADER_ROW_COUNT);
  const total = count + rows;
  const chunks = chunksOf(total);
  if (chunks > <u64>CHUNKS_MAX) return u64.MAX_VALUE >> 1;
  let bytes = (chunks - chunksOf(count)) * (CHUNK_BYTES + ALIGN_BYTES);
  let slots: u64 = (<u64>1) << (load<u64>(HEADER_BASE, HEADER_INDEX) & 0xff);
  while (total * 100 > slots * INDEX_LOAD_PERCENT) {
    slots *= 2;
    bytes += slots * 8 + ALIGN_BYTES;
  }
  return bytes;
}

function chunksOf(rows: u64): u64 {
  return (rows + <u64>CHUNK_MASK) >> CHUNK_ROWS_LOG2;
}

/**
 * Writer: makes room for so many further rows, a few at most, and the bytes of their identifiers;
 * false when memory is full.
 */
export function reserveRows(rows: u32, identifierBytes: u32): bool {
  const count = load<u32>(HEADER_BASE, HEADER_ROW_COUNT);
  for (let row = count; row < count + rows; row++) if (!ensureChunk(row)) return false;
  const total = <u64>count + rows;
  while (true) {
    const slots: u64 = (<u64>1) << (load<u64>(HEADER_BASE, HEADER_INDEX) & 0xff);
    if (total * 100 <= slots * INDEX_LOAD_PERCENT) return reserveIdentifiers(identifierBytes);
    if (!growIndex()) return false;
  }
}

function ensureChunk(row: u32): bool {
  if ((row & CHUNK_MASK) != 0) return true;
  const chunk = row >> CHUNK_ROWS_LOG2;
  if (chunk >= <u32>CHUNKS_MAX) return false;
  if (load<u32>(CHUNK_DIRECTORY_BASE + chunk * 4) != 0) return true;
  const address = allocate((CHUNK_MASK + 1) * ROW_STRIDE);
  if (address == 0) return false;
  memory.fill(address, 0, (CHUNK_MASK + 1) * ROW_STRIDE);
  store<u32>(CHUNK_DIRECTORY_BASE + chunk * 4, address);
  return true;
}

function insertSlot(index: u64, hash: u64, row: u32): void {
  const address = <u32>(index >> 8);
  const mask: u32 = ((<u32>1) << (<u32>(index & 0xff))) - 1;
  let slot: u32 = <u32>hash & mask;
  while (load<u64>(address + slot * 8) != 0) slot = (slot + 1) & mask;
  const word: u64 = (hash & 0xffffffff00000000) | <u64>(row + 1);
  atomic.store<u64>(address + slot * 8, word);
}

/** Writer: makes an index of the given size and fills it from the rows. */
function buildIndex(log2: u32): bool {
  const bytes: u32 = (<u32>8) << log2;
  const address = allocate(bytes);
  if (address == 0) return false;
  memory.fill(address, 0, bytes);
  const index: u64 = ((<u64>address) << 8) | <u64>log2;
  const seed = load<u64>(HEADER_BASE, HEADER_SEED);
  const rows = load<u32>(HEADER_BASE, HEADER_ROW_COUNT);
  for (let row: u32 = 0; row < rows; row++) {
    const record = rowAddress(row);
    const length = <u32>load<u16>(record, ROW_ID_LENGTH);
    const hash = hashBytes(load<u32>(record, ROW_ID_PTR), length, seed);
    insertSlot(index, hash, row);
  }
  store<u32>(HEADER_BASE, bytes, HEADER_BYTES_INDEX);
  atomic.store<u64>(HEADER_BASE, index, HEADER_INDEX);
  return true;
}

function growIndex(): bool {
  const index = load<u64>(HEADER_BASE, HEADER_INDEX);
  const log2: u32 = <u32>(index & 0xff);
  if (!buildIndex(log2 + 1)) return false;
  release(<u32>(index >> 8), (<u32>8) << log2);
  return true;
}

/** Writer: the first, empty index. */
export function createIndex(): bool {
  return buildIndex(INDEX_LOG2_MIN);
}

/** Reader: the row is open. Waits a little, unless it has done so for too long. */
function isWorthWaiting(record: u32, seq: u32, looks: i32): bool {
  if (looks >= LOOKS_MAX) return false;
  // Ends at once when the row has been closed since. Nobody is told of a close: a fold does not pay.
  if (looks >= SPINS_MAX) atomic.wait<i32>(record + ROW_SEQ, <i32>seq, PAUSE_NS);
  return true;
}

/**
 * Copies a row to `target` as one consistent state, retrying while a writer is inside it. Atomic
 * words keep the copy between the two reads of `seq` on every processor.
 */
export function copyRow(row: u32, target: u32): void {
  const record = rowAddress(row);
  for (let looks = 0; ; looks++) {
    const before = atomic.load<u32>(record, ROW_SEQ);
    if ((before & 1) != 0 && isWorthWaiting(record, before, looks)) continue;
    for (let offset: u32 = 0; offset < <u32>ROW_STRIDE; offset += 8) {
      copyWord(record, target, offset);
    }
    if (atomic.load<u32>(record, ROW_SEQ) == before || looks >= LOOKS_MAX) return;
  }
}

/**
 * The same for a check, which looks at half of a row: its flags, track A, counters and times. The
 * rest of `target` is left as it was.
 */
export function copySubject(row: u32, target: u32): void {
  const record = rowAddress(row);
  for (let looks = 0; ; looks++) {
    const before = atomic.load<u32>(record, ROW_SEQ);
    if ((before & 1) != 0 && isWorthWaiting(record, before, looks)) continue;
    copyWord(record, target, 0); // seq and ROW_FLAGS
    copyWord(record, target, ROW_MEAN_A);
    copyWord(record, target, ROW_VARIANCE_A);
    copyWord(record, target, ROW_SUBJECT_TIME);
    copyWord(record, target, ROW_SUCCESS_LONG); // and ROW_FAILURE_LONG
    copyWord(record, target, ROW_SUCCESS_SHORT); // and ROW_FAILURE_SHORT
    copyWord(record, target, ROW_FAILED_AT); // and ROW_FIRST_AT
    copyWord(record, target, ROW_SHOCK_AT); // and ROW_STAKES_PROVEN
    copyWord(record, target, ROW_CREDIBILITY); // and ROW_CLUSTER
    copyWord(record, target, ROW_VOICES); // and ROW_ASSESSED_AT
    copyWord(record, target, ROW_HALLUCINATED); // and ROW_UNVERIFIED
    copyWord(record, target, ROW_OUTCOMES); // and ROW_REPORTED
    copyWord(record, target, ROW_LATEST); // and ROW_BROKEN
    copyWord(record, target, ROW_PRAISE); // and ROW_REPORTED_LATEST
    copyWord(record, target, ROW_SEEN_DAY); // with ROW_HEARD_AT
    if (atomic.load<u32>(record, ROW_SEQ) == before || looks >= LOOKS_MAX) return;
  }
}

function copyWord(record: u32, target: u32, offset: u32): void {
  store<u64>(target + offset, atomic.load<u64>(record + offset));
}

/** Writer: opens and closes a row for writing (odd while open). */
export function openRow(record: u32): void {
  atomic.store<u32>(record, load<u32>(record, ROW_SEQ) + 1, ROW_SEQ);
}

export function closeRow(record: u32): void {
  atomic.store<u32>(record, load<u32>(record, ROW_SEQ) + 1, ROW_SEQ);
}
