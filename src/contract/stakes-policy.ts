// The part of a policy that puts amounts on a decision: what a tenant writes, what follows from it
// where a member is left out, and the conditions under which more stakes are never less strict.
// Amounts are in the tenant's unit; terms are in the bureau's unit of account.
import type { FieldError } from "./faults.ts";

/** What verify makes of a decision to connect with verification. */
export const ON_VERIFICATION = ["challenge", "allow_marked"] as const;
export type OnVerification = (typeof ON_VERIFICATION)[number];

/** Members that may be set for a tool level of its own. */
export interface LevelStakesPolicy {
  /** Hundredths of a percent of a good deal's volume that may be lost before verifying pays. */
  tolerated_loss_bps?: number;
  /** Share of the stakes that a failure loses, above 0. */
  loss_share?: number;
  /** Stakes that a request counts for at least, also where it names none. */
  assumed?: number;
  /** Days without word after which a good record is verified again. */
  stale_after_days?: number;
  on_verification?: OnVerification;
}

/** Levels that may have members of their own. */
export const STAKES_LEVELS = ["L2", "L3"] as const;
export type StakesLevel = (typeof STAKES_LEVELS)[number];

export interface StakesPolicy extends LevelStakesPolicy {
  /** Units of account that one of the tenant's units is worth. */
  unit?: number;
  /** What a person's look at one deal costs. */
  review_cost?: number;
  verification_cost?: number;
  /** Loss at which a deal hurts twice its amount. */
  risk_tolerance?: number;
  /** Share of a good deal's volume that a person's look costs in delay and lost deals. */
  review_friction?: number;
  levels?: Partial<Record<StakesLevel, LevelStakesPolicy>>;
}

/** Shares of failures that verifying and a person catch, 0 to 1. */
export interface CatchRates {
  readonly verifyCatch: number;
  readonly humanCatch: number;
}

/** Half a standard deviation is calibrated where the risk is small (docs/design/scoring.md). */
export const STAKES_CAUTION_DEFAULT = 0.5;
/** Where missing a failure costs half of what denying a good agent does: of configs that name none. */
export const DENY_FLOOR_DEFAULT = 2 / 3;

/** Those of the shipped scoring config. */
export const CATCH_RATES_DEFAULT: CatchRates = { verifyCatch: 0.8, humanCatch: 0.95 };

export const REVIEW_COST_DEFAULT = 5;
const TOLERATED_LOSS_BPS_DEFAULT = 250;
const STALE_AFTER_DAYS_DEFAULT = 180;
const VERIFICATION_COST_SHARE = 0.1;
const RISK_TOLERANCE_FACTOR = 1000;
const ASSUMED_FACTORS: Readonly<Record<StakesLevel, number>> = { L2: 1.4, L3: 2.4 };
const TOLERANCE_SHARES: Readonly<Record<StakesLevel, number>> = { L2: 1, L3: 0.5 };
const REVIEW_FRICTION_MIN = 0.05;
/** A person takes longer than a check by machine: the least by which the friction is larger. */
const REVIEW_FRICTION_FACTOR = 1.25;
const BPS_PER_ONE = 10_000;

/** A share as hundredths of a percent, without the rounding errors of having been divided by as many. */
export function convertShareToBps(share: number): number {
  return Number((share * BPS_PER_ONE).toPrecision(12));
}

/**
 * The numbers of one tool level's decision at stakes, or of check and handshake, in the bureau's
 * unit of account.
 */
export interface StakesTerms {
  /** Units of account in one of the tenant's units. */
  readonly unit: number;
  readonly verificationCost: number;
  readonly reviewCost: number;
  readonly riskTolerance: number;
  /** Share of a good deal's volume, 0 up, of this level and of the policy as a whole. */
  readonly toleratedLoss: number;
  readonly baseToleratedLoss: number;
  /** Undefined: it follows from the tolerated loss. */
  readonly reviewFriction: number | undefined;
  readonly lossShare: number;
  readonly assumed: number;
  readonly staleAfterDays: number;
  readonly onVerification: OnVerification;
  /** Whether silence and a nearly certain failure hold back, as at L2 and L3. */
  readonly isSensitive: boolean;
}

/** Terms of the tool levels; `connect` are those of check and handshake, which name no level. */
export type TermsByLevel = Readonly<Record<"L0" | "L1" | StakesLevel | "connect", StakesTerms>>;

/** The whole of a tenant's terms; what the policy leaves out follows from its two main numbers. */
export function resolveStakesTerms(policy: StakesPolicy = {}): TermsByLevel {
  const { unit = 1, review_cost: reviewCost = REVIEW_COST_DEFAULT } = policy;
  const baseBps = policy.tolerated_loss_bps ?? TOLERATED_LOSS_BPS_DEFAULT;
  const shared = {
    unit,
    verificationCost: (policy.verification_cost ?? reviewCost * VERIFICATION_COST_SHARE) * unit,
    reviewCost: reviewCost * unit,
    riskTolerance: (policy.risk_tolerance ?? reviewCost * RISK_TOLERANCE_FACTOR) * unit,
    baseToleratedLoss: baseBps / BPS_PER_ONE,
    reviewFriction: policy.review_friction,
  };
  const buildTerms = (name: StakesLevel, less?: StakesTerms): StakesTerms => {
    const own = { ...policy, ...policy.levels?.[name] };
    const bps = policy.levels?.[name]?.tolerated_loss_bps ?? baseBps * TOLERANCE_SHARES[name];
    const terms = {
      ...shared,
      toleratedLoss: bps / BPS_PER_ONE,
      lossShare: own.loss_share ?? 1,
      assumed: (own.assumed ?? reviewCost * ASSUMED_FACTORS[name]) * unit,
      staleAfterDays: own.stale_after_days ?? STALE_AFTER_DAYS_DEFAULT,
      onVerification: own.on_verification ?? "challenge",
      isSensitive: true,
    };
    return less === undefined ? terms : holdToStricter(terms, less, policy.levels?.L3 ?? {});
  };
  const sensitive = buildTerms("L2");
  const toleratedLoss = shared.baseToleratedLoss;
  const open: StakesTerms = {
    ...sensitive,
    toleratedLoss,
    lossShare: policy.loss_share ?? 1,
    assumed: 0,
    staleAfterDays: policy.stale_after_days ?? STALE_AFTER_DAYS_DEFAULT,
    onVerification: policy.on_verification ?? "challenge",
    isSensitive: false,
  };
  const connect = { ...sensitive, toleratedLoss };
  return { L0: open, L1: open, L2: sensitive, L3: buildTerms("L3", sensitive), connect };
}

/** What L3 does not name itself is at least as strict as what L2 has. */
function holdToStricter(
  terms: StakesTerms,
  less: StakesTerms,
  written: LevelStakesPolicy,
): StakesTerms {
  const { toleratedLoss, lossShare, assumed, staleAfterDays } = terms;
  return {
    ...terms,
    toleratedLoss:
      written.tolerated_loss_bps === undefined
        ? Math.min(toleratedLoss, less.toleratedLoss)
        : toleratedLoss,
    lossShare: written.loss_share === undefined ? Math.max(lossShare, less.lossShare) : lossShare,
    assumed: written.assumed === undefined ? Math.max(assumed, less.assumed) : assumed,
    staleAfterDays:
      written.stale_after_days === undefined
        ? Math.min(staleAfterDays, less.staleAfterDays)
        : staleAfterDays,
  };
}

/** Share of a good deal's volume that verifying costs at the level, r of the design. */
export function computeVerifyFriction(terms: StakesTerms, { verifyCatch }: CatchRates): number {
  return terms.toleratedLoss * verifyCatch;
}

/** The same for the policy as a whole, which the second border goes by at every level. */
export function computeBaseFriction(terms: StakesTerms, { verifyCatch }: CatchRates): number {
  return terms.baseToleratedLoss * verifyCatch;
}

/** Share of a good deal's volume that a person's look costs. */
export function computeReviewFriction(terms: StakesTerms, { humanCatch }: CatchRates): number {
  const least = REVIEW_FRICTION_FACTOR * terms.baseToleratedLoss * humanCatch;
  return terms.reviewFriction ?? Math.max(REVIEW_FRICTION_MIN, least);
}

type Member = keyof StakesPolicy;

/** The pointer to the first of the members that the tenant has written; to all of it otherwise. */
function findWritten(policy: StakesPolicy, members: readonly Member[], level?: StakesLevel) {
  const own = level === undefined ? undefined : policy.levels?.[level];
  for (const member of members) {
    if (own?.[member as keyof LevelStakesPolicy] !== undefined) return `/levels/${level}/${member}`;
    if (policy[member] !== undefined) return `/${member}`;
  }
  return "";
}

/**
 * What breaks the conditions under which more stakes and more risk are never less strict and L3 is
 * never looser than L2, with a pointer to a member that the tenant wrote.
 */
export function listStakesFaults(
  policy: StakesPolicy,
  pointer: string,
  catches: CatchRates = CATCH_RATES_DEFAULT,
): FieldError[] {
  const { L2, L3 } = resolveStakesTerms(policy);
  const { verifyCatch, humanCatch } = catches;
  const verifying = computeBaseFriction(L2, catches);
  const reviewing = computeReviewFriction(L2, catches);
  const faults: FieldError[] = [];
  const hold = (
    holds: boolean,
    members: readonly Member[],
    detail: string,
    level?: StakesLevel,
  ) => {
    if (holds) return;
    const at = `${pointer}${findWritten(policy, members, level)}`;
    faults.push({ pointer: at, code: level === undefined ? "range" : "inverted", detail });
  };
  hold(
    L2.reviewCost >= L2.verificationCost &&
      L2.verificationCost / verifyCatch <= L2.reviewCost / humanCatch,
    ["verification_cost", "review_cost"],
    `verification costs more for what it catches than a person does: at most ${formatAmount((L2.reviewCost / L2.unit / humanCatch) * verifyCatch)}`,
  );
  hold(
    verifying / verifyCatch <= reviewing / humanCatch,
    ["review_friction", "tolerated_loss_bps"],
    "a person's look would cost good deals less than verifying: `review_friction` is too small for `tolerated_loss_bps`",
  );
  const least: readonly Member[] = ["tolerated_loss_bps"];
  hold(L2.toleratedLoss <= L2.baseToleratedLoss, least, "is above that of the policy", "L2");
  hold(L3.toleratedLoss <= L2.toleratedLoss, least, "is above that of L2", "L3");
  hold(L3.lossShare >= L2.lossShare, ["loss_share"], "is below that of L2", "L3");
  hold(L3.assumed >= L2.assumed, ["assumed"], "is below that of L2", "L3");
  hold(L3.staleAfterDays <= L2.staleAfterDays, ["stale_after_days"], "is above that of L2", "L3");
  for (const [name, amount] of Object.entries({ ...L2, ...L3 })) {
    if (typeof amount !== "number" || Number.isFinite(amount)) continue;
    const detail = `${name} is not finite once multiplied by \`unit\``;
    faults.push({ pointer: `${pointer}${findWritten(policy, ["unit"])}`, code: "range", detail });
  }
  return faults;
}

function formatAmount(amount: number): string {
  return String(Math.floor(amount * 10_000) / 10_000);
}
