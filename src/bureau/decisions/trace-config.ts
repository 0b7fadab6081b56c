// Numbers of a scoring config that a trace shows: what every input added to the log-odds, and the borders
// between decisions at given stakes. The module decides by its own arithmetic
// (assembly/decision.ts); a test holds that both agree.
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import type { DecisionTrace } from "../../contract/schemas/trace.ts";
import { FEATURES } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";

type TracedFeature = NonNullable<DecisionTrace["legs"][number]["features"]>[number];
export type DecisionThresholds = NonNullable<DecisionTrace["legs"][number]["stakes"]["borders"]>;

/** A border of denial that is closed. */
const UNREACHABLE_PROBABILITY = 2;

/** Parts of the score in the order in which they are added; those without weight are left out. */
export function traceFeatures(
  config: ScoringConfig,
  leg: ReplayableLeg,
  input: ReadonlyMap<string, number>,
): TracedFeature[] {
  const isHandshake = leg.kind === "handshake";
  const model = isHandshake ? config.handshake : config.check;
  const factor = config.score_factor;
  const part = (
    name: string,
    value: number,
    weight: number,
    reference?: number,
  ): TracedFeature => ({
    name,
    value,
    weight,
    log_odds: weight * value,
    points: reference === undefined ? null : -factor * weight * (value - reference),
  });
  const number = (name: string) => input.get(name) ?? 0;
  const doubt = part("uncertainty", number("log_odds_sd"), config.caution, model.sd_reference);
  return [
    part("intercept", 1, model.intercept),
    part("base_rate", number("base_rate"), model.base),
    part("track_record", number("mean"), model.mean, model.mean_reference),
    ...(isHandshake ? [part("viewer", number("viewer_mean"), model.viewer)] : []),
    ...FEATURES.flatMap((name) => {
      const weight = model.weights[name] ?? 0;
      const value = number(`x_${name}`);
      return weight === 0 ? [] : [part(name, value, weight, model.references[name] ?? 0)];
    }),
    // Not among the odds: it is what the cautious score stays below the expected one.
    { ...doubt, log_odds: null },
  ];
}

/** Borders on the pessimistic probability at the stakes of a leg, and that of denial. */
export function computeDecisionThresholds(
  config: ScoringConfig,
  { kind, stakes }: ReplayableLeg,
): DecisionThresholds {
  const { loss, human_catch: human, verify_catch: verify, margin } = config;
  const model = kind === "handshake" ? config.handshake : config.check;
  const missed = (1 - human) * loss;
  const deny = Math.max(margin / (missed + margin), model.deny_at ?? UNREACHABLE_PROBABILITY);
  if (stakes <= 0) return { connect: 1, connect_with_verification: 1, deny };
  const rising = config.verify_cost + config.verify_cost_rate * stakes;
  const cost = Math.min(rising, config.verify_cost_max);
  const connect = Math.min(1, cost / (verify * loss * stakes));
  const asked = (config.human_cost - cost) / ((human - verify) * loss * stakes);
  return { connect, connect_with_verification: Math.min(1, Math.max(connect, asked)), deny };
}
