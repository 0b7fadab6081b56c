// Pair map: the evidence that one reporter, or one pool of reporters, has already given about one
// subject, per sign. It bounds the influence of repeated, colluding or unknown reporters: the mass
// per (subject, source, sign) never exceeds its cap (scoring 2.2: each sign has a cap of its own, so
// that praise never crowds out honest failures).
import { finalise } from "./hash.ts";
import {
  HEADER_BASE,
  HEADER_BYTES_PAIRS,
  HEADER_PAIRS,
  HEADER_PAIR_COUNT,
  PAIR_FAILURE,
  PAIR_LOAD_PERCENT,
  PAIR_LOG2_MIN,
  PAIR_STRIDE,
  PAIR_SUCCESS,
} from "./layout.ts";
import { ALIGN_BYTES, allocate, release } from "./memory.ts";
import { halving, reversion } from "./numeric.ts";

const PRAISE_RETURNED: u32 = 0x80000000;

function keyOf(subject: u32, source: u32): u64 {
  return ((<u64>(subject + 1)) << 32) | <u64>source;
}

function slotOf(map: u64, key: u64): u32 {
  const address = <u32>(map >> 8);
  const mask: u32 = ((<u32>1) << (<u32>(map & 0xff))) - 1;
  let slot: u32 = <u32>finalise(key) & mask;
  while (true) {
    const entry = address + slot * PAIR_STRIDE;
    const found = atomic.load<u64>(entry);
    if (found == key || found == 0) return entry;
    slot = (slot + 1) & mask;
  }
}

/** Address of an entry, 0 when there is none. Readers confirm with `isPairMapCurrent`. */
export function findPair(map: u64, subject: u32, source: u32): u32 {
  const address = <u32>(map >> 8);
  const mask: u32 = ((<u32>1) << (<u32>(map & 0xff))) - 1;
  const key = keyOf(subject, source);
  let slot: u32 = <u32>finalise(key) & mask;
  for (let probes: u32 = 0; probes <= mask; probes++) {
    const entry = address + slot * PAIR_STRIDE;
    const found = atomic.load<u64>(entry);
    if (found == key) return entry;
    if (found == 0) return 0;
    slot = (slot + 1) & mask;
  }
  return 0;
}

export function pairMap(): u64 {
  return atomic.load<u64>(HEADER_BASE, HEADER_PAIRS);
}

/** Writer: the entry of (subject, source), made when new; 0 when memory is full. */
export function findOrAddPair(subject: u32, source: u32): u32 {
  const key = keyOf(subject, source);
  let entry = slotOf(load<u64>(HEADER_BASE, HEADER_PAIRS), key);
  if (load<u64>(entry) == key) return entry;
  const count = load<u32>(HEADER_BASE, HEADER_PAIR_COUNT) + 1;
  const slots: u64 = (<u64>1) << (load<u64>(HEADER_BASE, HEADER_PAIRS) & 0xff);
  if (<u64>count * 100 > slots * PAIR_LOAD_PERCENT) {
    if (!growPairs()) return 0;
    entry = slotOf(load<u64>(HEADER_BASE, HEADER_PAIRS), key);
  }
  store<u32>(HEADER_BASE, count, HEADER_PAIR_COUNT);
  atomic.store<u64>(entry, key);
  return entry;
}

/** Entries that fit into the map as it is. */
export function pairRoom(): u32 {
  const slots: u64 = (<u64>1) << (load<u64>(HEADER_BASE, HEADER_PAIRS) & 0xff);
  const most = <u32>((slots * PAIR_LOAD_PERCENT) / 100);
  const count = load<u32>(HEADER_BASE, HEADER_PAIR_COUNT);
  return most > count ? most - count : 0;
}

/** Bytes of the heap that so many further entries take, by the growth that they cause. */
export function pairsNeed(pairs: u64): u64 {
  const total = <u64>load<u32>(HEADER_BASE, HEADER_PAIR_COUNT) + pairs;
  let slots: u64 = (<u64>1) << (load<u64>(HEADER_BASE, HEADER_PAIRS) & 0xff);
  let bytes: u64 = 0;
  while (total * 100 > slots * PAIR_LOAD_PERCENT) {
    slots *= 2;
    bytes += slots * PAIR_STRIDE + ALIGN_BYTES;
  }
  return bytes;
}

/** Writer: grows the map until so many further entries fit; false when memory is full. */
export function reservePairs(pairs: u32): bool {
  while (pairRoom() < pairs) if (!growPairs()) return false;
  return true;
}

/** Mass of a cell: never negative, its sign bit is the mark of returned praise. */
function massOf(packed: u64): f64 {
  return <f64>reinterpret<f32>(<u32>packed & ~PRAISE_RETURNED);
}

/** Mass of one sign (`cell` is PAIR_SUCCESS or PAIR_FAILURE) as of `seconds`. */
export function pairMass(entry: u32, cell: u32, seconds: u32, tauDays: f64): f64 {
  const packed = atomic.load<u64>(entry + cell);
  const mass = massOf(packed);
  const at = <u32>(packed >> 32);
  if (mass == 0.0 || seconds <= at) return mass;
  return mass * reversion(<f64>(seconds - at) / 86400.0, tauDays);
}

/** Mass of one sign as it was stored, of an entry whose mass does not fade. */
export function rawPairMass(entry: u32, cell: u32): f64 {
  return massOf(load<u64>(entry + cell));
}

/** Writer: adds to such a mass. */
export function addPairMass(entry: u32, cell: u32, mass: f64, seconds: u32): void {
  setPairMass(entry, cell, rawPairMass(entry, cell) + mass, seconds);
}

/** Whether the entry holds any mass, of either sign. */
export function hasMass(entry: u32): bool {
  return rawPairMass(entry, PAIR_SUCCESS) != 0.0 || rawPairMass(entry, PAIR_FAILURE) != 0.0;
}

/** Decayed count of one sign on a half-life, for the reciprocity features. */
export function pairEcho(entry: u32, cell: u32, seconds: u32, halfLife: f64): f64 {
  const packed = atomic.load<u64>(entry + cell);
  const mass = massOf(packed);
  const at = <u32>(packed >> 32);
  if (mass == 0.0 || seconds <= at) return mass;
  return mass * halving(<f64>(seconds - at) / 86400.0, halfLife);
}

/** Writer: stores a mass and its time. Time never moves back. */
export function setPairMass(entry: u32, cell: u32, mass: f64, seconds: u32): void {
  const packed = load<u64>(entry + cell);
  const time: u64 = <u64>max(<u32>(packed >> 32), seconds);
  const mark = <u32>packed & PRAISE_RETURNED;
  atomic.store<u64>(entry + cell, (time << 32) | <u64>(reinterpret<u32>(<f32>mass) | mark));
}

/** Whether both of a pair have praised each other, as marked in either entry. */
export function isPraiseReturned(entry: u32): bool {
  return (<u32>load<u64>(entry + PAIR_SUCCESS) & PRAISE_RETURNED) != 0;
}

/** Writer: marks that. */
export function markPraiseReturned(entry: u32): void {
  const packed = load<u64>(entry + PAIR_SUCCESS);
  atomic.store<u64>(entry + PAIR_SUCCESS, packed | <u64>PRAISE_RETURNED);
}

function buildPairs(log2: u32): bool {
  const bytes: u32 = PAIR_STRIDE << log2;
  const address = allocate(bytes);
  if (address == 0) return false;
  memory.fill(address, 0, bytes);
  const map: u64 = ((<u64>address) << 8) | <u64>log2;
  const old = load<u64>(HEADER_BASE, HEADER_PAIRS);
  if (old != 0) {
    const end = <u32>(old >> 8) + ((<u32>PAIR_STRIDE) << (<u32>(old & 0xff)));
    for (let entry = <u32>(old >> 8); entry < end; entry += PAIR_STRIDE) {
      const key = load<u64>(entry);
      if (key != 0) memory.copy(slotOf(map, key), entry, PAIR_STRIDE);
    }
  }
  store<u32>(HEADER_BASE, bytes, HEADER_BYTES_PAIRS);
  atomic.store<u64>(HEADER_BASE, map, HEADER_PAIRS);
  return true;
}

function growPairs(): bool {
  const map = load<u64>(HEADER_BASE, HEADER_PAIRS);
  const log2 = <u32>(map & 0xff);
  if (!buildPairs(log2 + 1)) return false;
  release(<u32>(map >> 8), PAIR_STRIDE << log2);
  return true;
}

/** Writer: the first, empty map. */
export function createPairs(): bool {
  return buildPairs(PAIR_LOG2_MIN);
}
