// Policies of all tenants as one thread knows them: the one in force for each, and every earlier
// one by its version, so that a logged decision can be judged again by its own rules. A fold over
// the journal's policy events: the same events in the same order give the same book.
import { fillPolicyDefaults } from "../contract/complete-policy.ts";
import { DEFAULT_POLICY } from "../contract/policy.ts";
import type { Policy, PolicyEvent } from "../contract/policy.ts";
import { createActivePolicy, deriveRules } from "./active-policy.ts";
import type { ActivePolicy, PolicySource } from "./active-policy.ts";

const DEFAULT_ACTIVE_POLICY = createActivePolicy(DEFAULT_POLICY);
/** Shipped before: decisions in the log bear its version, and are judged again by it. */
const FORMER_DEFAULT_POLICY = createActivePolicy({
  ...DEFAULT_POLICY,
  levels: {
    ...DEFAULT_POLICY.levels,
    L2: { ...DEFAULT_POLICY.levels.L2, allow_handshake_up_to: 0.15 },
  },
});

/** The policy of a tenant, and who set it when; null for the shipped one. */
export interface TenantPolicy extends ActivePolicy {
  readonly setBy: string | null;
  readonly setAtMs: number | null;
}

const DEFAULT_TENANT_POLICY: TenantPolicy = Object.freeze({
  ...DEFAULT_ACTIVE_POLICY,
  setBy: null,
  setAtMs: null,
});

/** The policies that tenants have set. */
export interface PolicyList {
  listActivePolicies(): Iterable<readonly [tenant: string, active: ActivePolicy]>;
}

export class PolicyBook implements PolicySource, PolicyList {
  readonly #activeByTenant = new Map<string, TenantPolicy>();
  readonly #byVersion = new Map<string, Policy>(
    [DEFAULT_ACTIVE_POLICY, FORMER_DEFAULT_POLICY].map(({ version, policy }) => [version, policy]),
  );

  /** `events`: journal payloads so far, in order. */
  constructor(events: readonly Uint8Array[] = []) {
    for (const payload of events) this.apply(decodePolicyEvent(payload));
  }

  findActivePolicy(tenant: string): TenantPolicy {
    return this.#activeByTenant.get(tenant) ?? DEFAULT_TENANT_POLICY;
  }

  listActivePolicies(): Iterable<readonly [tenant: string, active: TenantPolicy]> {
    return this.#activeByTenant;
  }

  findPolicyVersion(version: string): Policy | undefined {
    return this.#byVersion.get(version);
  }

  /** Puts a policy in force. Its version stays as recorded, whatever rules were added since. */
  apply(event: PolicyEvent): void {
    const policy = fillPolicyDefaults(event.policy);
    const { tenant, version, set_by: setBy, at_ms: setAtMs } = event;
    const active = { version, policy, ...deriveRules(policy), setBy, setAtMs };
    this.#activeByTenant.set(tenant, Object.freeze(active));
    this.#byVersion.set(version, policy);
  }
}

/** The event in a journal payload. */
export function decodePolicyEvent(payload: Uint8Array): PolicyEvent {
  return JSON.parse(Buffer.from(payload).toString()) as PolicyEvent;
}
