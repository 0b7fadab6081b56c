// Use cases of the policy: read the one in force for a tenant, set another. A policy is durable in
// the journal, and in force on every thread, before the change is answered.
import type { Principal } from "../contract/principal.ts";
import { invalidRequest } from "../contract/faults.ts";
import type { Policy, PolicyEvent } from "../contract/policy.ts";
import type { PolicyDocument } from "../contract/schemas/policy.ts";
import type { PolicyLog } from "../ledger/ledger.ts";
import { createActivePolicy } from "../policy/active-policy.ts";
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
    const { version, policy, setBy, setAtMs } = this.#options.book.findActivePolicy(tenant);
    const setAt = setAtMs === null ? null : new Date(setAtMs).toISOString();
    return { tenant, version, policy, set_by: setBy, set_at: setAt };
  }

  /**
   * The document that `set` would answer now, before anybody has set it.
   * @throws ServiceFault as `set` does for the policy itself.
   */
  previewPolicy(tenant: string, policy: Policy): PolicyDocument {
    assertVouchingsUnexpired(policy, this.#options.clock());
    const { version, policy: whole } = createActivePolicy(policy);
    return { tenant, version, policy: whole, set_by: null, set_at: null };
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
