// Active scoring config: a fixed struct in a ring of 64 slots. Installing one fills the next slot
// and then raises HEADER_CONFIG_COUNT, one atomic store, so the next read sees all of it.
import {
  CONFIG_BASE,
  CONFIG_NUMBER,
  CONFIG_SLOTS,
  CONFIG_STRIDE,
  CONFIG_WORDS,
  HEADER_BASE,
  HEADER_CONFIG_COUNT,
} from "./layout.ts";

/** Address of the slot that holds config `number` (numbers start at 1). */
export function configSlot(number: u32): u32 {
  return CONFIG_BASE + ((number - 1) & (CONFIG_SLOTS - 1)) * CONFIG_STRIDE;
}

/** Number of the active config; 0 before any was installed. */
export function activeConfigNumber(): u32 {
  return atomic.load<u32>(HEADER_BASE, HEADER_CONFIG_COUNT);
}

/**
 * True while the slot still holds `number`: a reader that was put to sleep for 63 installs checks
 * this after scoring and starts again.
 */
export function isConfigIntact(config: u32, number: u32): bool {
  return atomic.load<u32>(config, CONFIG_NUMBER) == number;
}

/** One f64 word of a config. */
export function word(config: u32, index: u32): f64 {
  return load<f64>(config + (index << 3), CONFIG_WORDS);
}
