// Numbers of a scoring config that a trace shows: what every input added to the log-odds, and the borders
// between decisions at given stakes.
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import type { DecisionTrace } from "../../contract/schemas/trace.ts";
import { FEATURES } from "../../contract/vocabulary.ts";
import type { StakesTerms } from "../../contract/stakes-policy.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { DENY_FLOOR_DEFAULT } from "../../contract/stakes-policy.ts";
import { computeRiskBorders } from "../../policy/stakes-decision.ts";

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

/**
 * Borders on the cautious probability at the stakes of a leg, by the terms that it was decided by, and that
 * of denial.
 */
export function computeDecisionThresholds(
  config: ScoringConfig,
  { kind, stakes }: ReplayableLeg,
  terms: StakesTerms,
): DecisionThresholds {
  const model = kind === "handshake" ? config.handshake : config.check;
  const floor = config.deny_floor ?? DENY_FLOOR_DEFAULT;
  const catches = { verifyCatch: config.verify_catch, humanCatch: config.human_catch };
  const { connect, verification } = computeRiskBorders(terms, catches, stakes);
  return {
    connect,
    connect_with_verification: verification,
    deny: Math.max(floor, model.deny_at ?? UNREACHABLE_PROBABILITY),
  };
}
