// The authenticated API key that asks, as the rest of the service knows it.
import type { Scope, ToolLevel } from "./vocabulary.ts";

export interface Principal {
  keyId: string;
  tenant: string;
  scopes: ReadonlySet<Scope>;
  /** Minimum internal score (300-850) by tool level, SPEC §2.3 `threshold_met`; 300: the key names none. */
  minimumScores: Readonly<Record<ToolLevel, number>>;
  isShadow: boolean;
  /** Whether the operator vouches for what comes with the key. */
  isFirstParty: boolean;
  /** Whether properties in its requests may lower the level that a policy's `actions` give; absent: no. */
  assertsProperties?: boolean;
  /** Number of the tenant as a voice (hashTenantToVoice). */
  voice: number;
  /** Longest work of one query of its own, in seconds; absent: it has no such limit. */
  querySecondsMax?: number;
  /** How it asks, where that is not by its key: `console:` and the beginning of a session. */
  via?: string;
}

/**
 * The later form of an API key, revoked if the earlier one was: in a cluster a change that was made without
 * knowing of a revocation may stand behind it in the log.
 */
export function keepRevocation<Key extends { readonly revokedAtMs: number | null }>(
  earlier: { readonly revokedAtMs: number | null } | undefined,
  later: Key,
): Key {
  const revokedAtMs = earlier?.revokedAtMs ?? null;
  return revokedAtMs === null || later.revokedAtMs !== null ? later : { ...later, revokedAtMs };
}
