// Limits of a tool level on what an agent does: how often it acts, how many actions are new of it, how much of its
// stakes is not settled, how old its session is. Each is enforced, or only logged. A policy that leaves one out has
// the shipped one, which is filled in when verdicts are prepared: the document and its version stay as written.
import type { ToolLevel } from "../vocabulary.ts";

/** `off`: nothing follows. `log`: the answer is marked once a day for a person to look at. `enforce`: the agent is challenged. */
export const LIMIT_MODES = ["off", "log", "enforce"] as const;
export type LimitMode = (typeof LIMIT_MODES)[number];

export interface Limit {
  /** What is above it is beyond the limit. */
  max: number;
  mode: LimitMode;
}

export const LIMIT_NAMES = [
  "calls_per_hour",
  "new_actions_per_hour",
  "exposure_max",
  "session_max_sec",
] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** Of one level, as written: what is left out is as shipped. */
export type LevelLimits = { [Name in LimitName]?: Limit };

/** Of one level, filled in: null is none. */
export type ResolvedLimits = Readonly<Record<LimitName, Readonly<Limit> | null>>;

/** What earlier stakes of an agent that are not settled do to a decision at stakes. */
export const UNSETTLED_STAKES_MODES = ["enforce", "log", "ignore"] as const;
export type UnsettledStakesMode = (typeof UNSETTLED_STAKES_MODES)[number];
export const UNSETTLED_STAKES_DEFAULT: UnsettledStakesMode = "enforce";

const NO_LIMITS: ResolvedLimits = {
  calls_per_hour: null,
  new_actions_per_hour: null,
  exposure_max: null,
  session_max_sec: null,
};

const SESSION_MAX: Limit = { max: 86_400, mode: "log" };

/**
 * Shipped limits. Actions are names of operations, of which an agent has tens; hundreds of new ones
 * within an hour indicate a takeover or a fault. How often an agent acts differs by orders of magnitude
 * from one to the next: that limit is only logged.
 */
export const SHIPPED_LIMITS: Readonly<Record<ToolLevel, ResolvedLimits>> = {
  L0: NO_LIMITS,
  L1: NO_LIMITS,
  L2: {
    calls_per_hour: { max: 5000, mode: "log" },
    new_actions_per_hour: { max: 80, mode: "log" },
    exposure_max: null,
    session_max_sec: SESSION_MAX,
  },
  L3: {
    calls_per_hour: { max: 5000, mode: "log" },
    new_actions_per_hour: { max: 40, mode: "enforce" },
    exposure_max: null,
    session_max_sec: SESSION_MAX,
  },
};

/** The limits of a level with the shipped ones where `given` says nothing. */
export function resolveLevelLimits(
  level: ToolLevel,
  given: LevelLimits | undefined,
): ResolvedLimits {
  return given === undefined ? SHIPPED_LIMITS[level] : { ...SHIPPED_LIMITS[level], ...given };
}
