// The border of denial (scoring 4): from where on a record is denied, whatever the stakes. Decisions
// that depend on the stakes are the tenant's (src/policy/stakes-decision.ts).
import { word } from "./config.ts";
import { MODEL_DENY_AT, WORD_DENY_FLOOR } from "./layout.ts";

/**
 * Probability of failure from which a record denies: the fitted one, which few successes ever
 * reach, and never less than the config's floor.
 */
export function denyBorder(config: u32, model: u32): f64 {
  return max(word(config, WORD_DENY_FLOOR), word(config, model + MODEL_DENY_AT));
}
