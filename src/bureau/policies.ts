// Use cases of the policy: read the one in force for a tenant, set another. A policy is durable in
// the journal, and in force on every thread, before the change is answered.
import type { Principal } from "../contract/principal.ts";
import { invalidRequest } from "../contract/faults.ts";
import type { Policy, PolicyEvent } from "../contract/policy.ts";
import type { PolicyDocument } from "../contract/schemas/policy.ts";
import type { PolicyLog } from "../ledger/ledger.ts";
import {
  CATCH_RATES_DEFAULT,
  computeReviewFriction,
  convertShareToBps,
} from "../contract/stakes-policy.ts";
import type { StakesTerms } from "../contract/stakes-policy.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import { createActivePolicy } from "../policy/active-policy.ts";
import type { ResolvedLimits } from "../contract/activity/limits.ts";
import type { ActivePolicy } from "../policy/active-policy.ts";
import type { PolicyBook } from "../policy/policy-book.ts";
import { SerialQueue } from "../concurrency/serial-queue.ts";

export interface TenantPoliciesOptions {
  readonly log: PolicyLog;
  /** Of the calling thread. */
  readonly book: PolicyBook;
  /** Called with every policy once it is durable and in force here, before it is answered. */
  readonly onPolicy: (event: PolicyEvent) => void;
  /** Epoch ms. */
  readonly clock: () => number;
}

/** A policy's rules, the amounts that decide, in the tenant's unit, and the minimum scores. */
function describeRules({
  version,
  policy,
  terms,
  levelMinimums,
  limits,
  unsettledStakes,
}: ActivePolicy): Omit<PolicyDocument, "tenant" | "set_by" | "set_at"> {
  const { connect, L2, L3 } = terms;
  const stakes = {
    unit: connect.unit,
    is_set: policy.stakes?.review_cost !== undefined,
    connect: describeTerms(connect),
    L2: describeTerms(L2),
    L3: describeTerms(L3),
  };
  const describe = (level: ToolLevel) => {
    const { enforce, minimum_score: named } = policy.levels[level];
    return { internal_score: levelMinimums[level], enforced: enforce && named !== null };
  };
  const minimums = {
    L0: describe("L0"),
    L1: describe("L1"),
    L2: describe("L2"),
    L3: describe("L3"),
  };
  return {
    version,
    policy,
    stakes_in_force: stakes,
    minimum_scores_in_force: minimums,
    limits_in_force: {
      unsettled_stakes: unsettledStakes,
      L0: describeLimits(limits.L0),
      L1: describeLimits(limits.L1),
      L2: describeLimits(limits.L2),
      L3: describeLimits(limits.L3),
    },
  };
}

function describeLimits(limits: ResolvedLimits): PolicyDocument["limits_in_force"]["L0"] {
  const inForce = Object.entries(limits).filter(([, limit]) => limit !== null);
  return Object.fromEntries(inForce);
}

function describeTerms(terms: StakesTerms): PolicyDocument["stakes_in_force"]["L2"] {
  const { unit } = terms;
  return {
    verification_cost: terms.verificationCost / unit,
    review_cost: terms.reviewCost / unit,
    risk_tolerance: terms.riskTolerance / unit,
    tolerated_loss_bps: convertShareToBps(terms.toleratedLoss),
    review_friction: computeReviewFriction(terms, CATCH_RATES_DEFAULT),
    loss_share: terms.lossShare,
    assumed: terms.assumed / unit,
    stale_after_days: terms.staleAfterDays,
    on_verification: terms.onVerification,
  };
}

export class TenantPolicies {
  readonly #options: TenantPoliciesOptions;
  /** Changes run one after another: threads learn of them in the journal's order. */
  readonly #changes = new SerialQueue();

  constructor(options: TenantPoliciesOptions) {
    this.#options = options;
  }

  /** A policy that another node has put in force. */
  applyRemotePolicy(event: PolicyEvent): void {
    this.#options.book.apply(event);
    this.#options.onPolicy(event);
  }

  describePolicy(tenant: string): PolicyDocument {
    const active = this.#options.book.findActivePolicy(tenant);
    const { setBy, setAtMs } = active;
    const setAt = setAtMs === null ? null : new Date(setAtMs).toISOString();
    return { tenant, ...describeRules(active), set_by: setBy, set_at: setAt };
  }

  /**
   * The document that `set` would answer now, before anybody has set it.
   * @throws ServiceFault as `set` does for the policy itself.
   */
  previewPolicy(tenant: string, policy: Policy): PolicyDocument {
    assertVouchingsUnexpired(policy, this.#options.clock());
    return { tenant, ...describeRules(createActivePolicy(policy)), set_by: null, set_at: null };
  }

  /**
   * Puts a policy in force for a tenant.
   * @param reason why, for the record.
   * @throws ServiceFault `invalid_request` when it vouches for somebody until a time that has passed.
   * @throws ServiceFault `journal_unavailable` or `overloaded` when it cannot be made durable; then
   *   nothing has changed.
   */
  setPolicy(
    tenant: string,
    policy: Policy,
    principal: Principal,
    reason?: string,
  ): Promise<PolicyDocument> {
    const { log, book, onPolicy, clock } = this.#options;
    return this.#changes.run(async () => {
      const nowMs = clock();
      assertVouchingsUnexpired(policy, nowMs);
      const event: PolicyEvent = {
        event: "policy.set",
        tenant,
        policy,
        version: createActivePolicy(policy).version,
        set_by: principal.keyId,
        at_ms: nowMs,
        ...(reason === undefined ? {} : { reason }),
        ...(principal.via === undefined ? {} : { via: principal.via }),
      };
      await log.appendPolicy(Buffer.from(JSON.stringify(event)));
      book.apply(event);
      onPolicy(event);
      return this.describePolicy(tenant);
    });
  }
}

/** A word that has expired says nothing: it is a slip in the year, or left over from another policy. */
function assertVouchingsUnexpired({ vouched = [] }: Policy, nowMs: number): void {
  const faults = vouched.flatMap(({ until }, index) => {
    if (Date.parse(until) > nowMs) return [];
    return [{ pointer: `/vouched/${index}/until`, code: "range" as const, detail: "has passed" }];
  });
  if (faults.length > 0) throw invalidRequest(faults);
}
