// The policy of a tenant as data: per tool level, the failure probability up to which an agent is
// let through, what a thin record draws, from where on it is denied. Thin history can ask for a
// second look and never more; only risk denies. The operator's word may stand in for a thin record.
import type { ActionEntry } from "./actions.ts";
import type { LevelLimits, UnsettledStakesMode } from "./activity/limits.ts";
import type { StakesPolicy } from "./stakes-policy.ts";
import { SCORE_MIN } from "./units.ts";
import type { ToolLevel } from "./vocabulary.ts";

/**
 * Share of the prior variance that outcomes must have resolved, in scoring configs that name none:
 * about three ordinary outcomes; below it a record is thin.
 */
export const THIN_BELOW_DEFAULT = 0.15;
/** The same for how many outcomes there must be: one weighty word is no record. */
export const THIN_OUTCOMES_DEFAULT = 5;

/** What a record that outcomes have resolved too little draws at a level. */
export const THIN_RULES = ["allow", "flag", "challenge"] as const;
export type ThinRule = (typeof THIN_RULES)[number];

/** Rules of one tool level. */
export interface LevelPolicy {
  /** ALLOW where the failure probability is at most this, 0 to 1; 1 for any. */
  allow_up_to: number;
  /** The same for the subject of a handshake leg, whose probability knows who looks. */
  allow_handshake_up_to: number;
  /** What is allowed above this failure probability is flagged for review; 1 for never. */
  flag_above: number;
  thin: ThinRule;
  /** Whether what stands above the bound is held back (CHALLENGE and stricter) or only marked. */
  enforce: boolean;
  /**
   * Failure probability from which a record denies (QUARANTINE, BLOCK): the fitted border of the
   * scoring config, a number of the tenant's own, or never.
   */
  deny_from: "fitted" | "never" | number;
  /** Minimum internal score, 300 to 850, beside one that the key names; null for none. */
  minimum_score: number | null;
  /** Whether stakes count as in `check`, by the level's own terms; where none are named, those assumed. */
  counts_stakes: boolean;
  /** Whether a citation that is not registered asks for a second look. */
  require_verified_sources: boolean;
  /** Answered and logged, not to be applied: `enforced` is false. */
  shadow: boolean;
  /**
   * One in so many challenges that the record alone draws is let through by lot, so that what is held
   * back can be learnt about too; left out for none.
   */
  audit_one_in?: number;
  /** Stakes up to which that may be; left out or 0: up to what a request that names none counts for. */
  audit_max_stakes?: number;
  /** What content that certainly fails draws; left out: the level's default (`isBrokenEvidenceWithheld`). */
  broken_evidence?: BrokenEvidenceRule;
  /** Limits on what an agent does at the level; left out: the shipped ones. */
  limits?: LevelLimits;
}

/** Allowed and flagged for review, or withheld by the verdict of the level (policy/rulings.ts). */
export const BROKEN_EVIDENCE_RULES = ["flag", "withhold"] as const;
export type BrokenEvidenceRule = (typeof BROKEN_EVIDENCE_RULES)[number];

/**
 * Whether a level withholds content that certainly fails. By default L2, L3 and an enforced level do; the
 * others keep to SPEC §8.1 and §8.2: allowed, with the anomaly flagged.
 */
export function isBrokenEvidenceWithheld(toolLevel: ToolLevel, level: LevelPolicy): boolean {
  if (level.broken_evidence !== undefined) return level.broken_evidence === "withhold";
  return level.enforce || toolLevel === "L2" || toolLevel === "L3";
}

/** Levels up to which the operator's word may count. */
export const VOUCHED_LEVELS = ["L2", "L3"] as const;

/** The operator's word for the agents of a namespace whose record is thin. */
export interface Vouching {
  /** `agent://name/*`; the name may have further segments. */
  namespace: string;
  /** RFC 3339 in UTC: from this moment on the word no longer counts. */
  until: string;
  /** The most sensitive level at which it counts. */
  up_to: (typeof VOUCHED_LEVELS)[number];
  /**
   * Stakes up to which it counts too, in the tenant's unit; beyond them the stakes decide. 0: up to what a
   * request that names none counts for.
   */
  max_stakes: number;
}

export interface Policy {
  levels: Record<ToolLevel, LevelPolicy>;
  /** Lets a more sensitive level be looser than a less sensitive one. */
  allow_inverted: boolean;
  /** Left out for none, so that a policy from before vouching keeps its version. */
  vouched?: Vouching[];
  /** As it was written; left out: nothing is set, and the shipped amounts hold. */
  stakes?: StakesPolicy;
  /** In order: the first entry that matches decides. Left out: each request's own level counts. */
  actions?: ActionEntry[];
  /** Whether earlier stakes that no outcome has settled count with those of a call; left out: they do. */
  unsettled_stakes?: UnsettledStakesMode;
}

/**
 * What stood as a key's minimum before defaults followed the policy: in keys and decisions of then, reported and
 * never enforced.
 */
export const FORMER_MINIMUM_SCORES: Readonly<Record<ToolLevel, number>> = {
  L0: SCORE_MIN,
  L1: SCORE_MIN,
  L2: 507,
  L3: 550,
};

/** Minimum scores of a key that names none: the floor of the scale, which every score meets. */
export const MINIMUM_SCORES_DEFAULT: Readonly<Record<ToolLevel, number>> = {
  L0: SCORE_MIN,
  L1: SCORE_MIN,
  L2: SCORE_MIN,
  L3: SCORE_MIN,
};

const OPEN_LEVEL: LevelPolicy = {
  allow_up_to: 1,
  allow_handshake_up_to: 1,
  flag_above: 1,
  thin: "allow",
  enforce: false,
  deny_from: "fitted",
  minimum_score: null,
  counts_stakes: false,
  require_verified_sources: false,
  shadow: false,
};

const SENSITIVE_LEVEL: LevelPolicy = {
  ...OPEN_LEVEL,
  thin: "challenge",
  enforce: true,
  counts_stakes: true,
};

/**
 * The shipped policy. The bounds were chosen on the part of two rating streams before their last
 * fifth: nearly all agents with a good record pass L2, on the one nine in ten and on the other seven in
 * ten L3 too (`npm run eval:verdicts`).
 */
export const DEFAULT_POLICY: Policy = {
  levels: {
    L0: OPEN_LEVEL,
    L1: { ...OPEN_LEVEL, flag_above: 0.15, thin: "flag" },
    L2: { ...SENSITIVE_LEVEL, allow_up_to: 0.1, allow_handshake_up_to: 0.2 },
    L3: { ...SENSITIVE_LEVEL, allow_up_to: 0.05, allow_handshake_up_to: 0.05 },
  },
  allow_inverted: false,
};

/** Journal payload of a record of kind `policy`, as JSON. */
export interface PolicyEvent {
  event: "policy.set";
  tenant: string;
  /** Whole: what the document left out is filled in. */
  policy: Policy;
  /** `p-` and 16 hex digits, see active-policy.ts. */
  version: string;
  /** Id of the API key. */
  set_by: string;
  /** Epoch ms. */
  at_ms: number;
  /** Why, in the words of who set it; left out for none. */
  reason?: string;
  /** `Principal.via` of who set it; left out for a key. */
  via?: string;
}
