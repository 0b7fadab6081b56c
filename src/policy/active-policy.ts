// The policy in force for each tenant, as the decisions of one thread see it. Named by its content,
// so that a logged decision says exactly which rules it was made by.
import { createHash } from "node:crypto";
import { resolveLevelLimits, UNSETTLED_STAKES_DEFAULT } from "../contract/activity/limits.ts";
import type { ResolvedLimits, UnsettledStakesMode } from "../contract/activity/limits.ts";
import { formatCanonicalJson } from "../contract/canonical-json.ts";
import { DEFAULT_POLICY } from "../contract/policy.ts";
import type { Policy } from "../contract/policy.ts";
import { resolveStakesTerms } from "../contract/stakes-policy.ts";
import type { TermsByLevel } from "../contract/stakes-policy.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import { compileActions } from "./actions.ts";
import type { CompiledEntry } from "./actions.ts";
import { resolveLevelMinimums } from "./level-minimums.ts";
import { buildVouchedNamespaces } from "./vouching.ts";
import type { VouchedNamespace } from "./vouching.ts";

/** A policy under the name that every verdict made by it carries: `p-` and 16 hex digits. */
export interface ActivePolicy {
  readonly version: string;
  readonly policy: Policy;
  /** What `policy.vouched` says, ready for the hot path. */
  readonly vouched: readonly VouchedNamespace[];
  /** What `policy.stakes` says, filled in and in the bureau's unit of account. */
  readonly terms: TermsByLevel;
  /** Minimum internal score of each level for keys that name none (SPEC §2.3 `threshold_met`). */
  readonly levelMinimums: Readonly<Record<ToolLevel, number>>;
  /** What `policy.actions` says; undefined where each request's own level counts. */
  readonly actions: readonly CompiledEntry[] | undefined;
  /** Limits of each level, with the shipped ones filled in. */
  readonly limits: Readonly<Record<ToolLevel, ResolvedLimits>>;
  readonly unsettledStakes: UnsettledStakesMode;
}

/** Where verify finds the policy of a tenant; synchronous, and never without an answer. */
export interface PolicySource {
  findActivePolicy(tenant: string): ActivePolicy;
  /** A policy that is or was in force for any tenant, by its version. */
  findPolicyVersion(version: string): Policy | undefined;
}

/** Names a policy by the sha256 of its canonical JSON, members sorted. */
export function createActivePolicy(policy: Policy): ActivePolicy {
  const digest = createHash("sha256").update(formatCanonicalJson(policy)).digest("hex");
  const version = `p-${digest.slice(0, 16)}`;
  return Object.freeze({ version, policy, ...deriveRules(policy) });
}

/** What follows from a policy, in the form that a verdict reads. */
export function deriveRules(policy: Policy): Omit<ActivePolicy, "version" | "policy"> {
  return { ...deriveLevelRules(policy), actions: compileActions(policy) };
}

function resolveLimits({ levels }: Policy): ActivePolicy["limits"] {
  return {
    L0: resolveLevelLimits("L0", levels.L0.limits),
    L1: resolveLevelLimits("L1", levels.L1.limits),
    L2: resolveLevelLimits("L2", levels.L2.limits),
    L3: resolveLevelLimits("L3", levels.L3.limits),
  };
}

/** The part of it that judges once the tool level is known: all that a logged decision needs. */
export function deriveLevelRules(
  policy: Policy,
): Omit<ActivePolicy, "version" | "policy" | "actions"> {
  return {
    limits: resolveLimits(policy),
    unsettledStakes: policy.unsettled_stakes ?? UNSETTLED_STAKES_DEFAULT,
    vouched: buildVouchedNamespaces(policy),
    terms: resolveStakesTerms(policy.stakes),
    levelMinimums: resolveLevelMinimums(policy),
  };
}

/** The shipped policy for everyone: bureaus without a policy book. */
export const defaultPolicySource: PolicySource = (() => {
  const shipped = createActivePolicy(DEFAULT_POLICY);
  const find = (version: string) => (version === shipped.version ? shipped.policy : undefined);
  return { findActivePolicy: () => shipped, findPolicyVersion: find };
})();
