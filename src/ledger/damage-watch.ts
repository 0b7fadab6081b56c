// Known damage in the sealed segments of the journal. Kept for readiness and metrics, logged and
// put on record once, and taken back when a later scrub finds the segment sound.
import type { JournalDamage } from "../journal/faults.ts";
import type { ScrubMessage } from "./messages.ts";

/** State of the sealed segments at their last scrub. */
export interface JournalHealth {
  readonly damages: readonly JournalDamage[];
  /** Epoch ms of the last scrub of all of them; undefined before the first. */
  readonly verifiedMs: number | undefined;
}

export interface DamageWatchOptions {
  readonly log: (event: string, detail: string) => void;
  /** Makes an audit event durable. */
  readonly append: (payload: Uint8Array) => Promise<unknown>;
  /** Epoch ms. */
  readonly clock: () => number;
}

export class DamageWatch implements JournalHealth {
  readonly #options: DamageWatchOptions;
  #damagesByKey = new Map<string, JournalDamage>();
  verifiedMs: number | undefined = undefined;

  constructor(options: DamageWatchOptions) {
    this.#options = options;
  }

  get damages(): readonly JournalDamage[] {
    return [...this.#damagesByKey.values()];
  }

  /** Takes the findings of a scrub so far. */
  applyScrub({ segments, damages, isDone, isWhole }: ScrubMessage): void {
    for (const damage of damages) {
      if (this.#damagesByKey.has(buildDamageKey(damage))) continue;
      this.#damagesByKey.set(buildDamageKey(damage), damage);
      this.#report("journal_damaged", damage, `${describeDamage(damage)}: ${DAMAGE_ADVICE}`);
    }
    if (!isDone) return;
    if (isWhole) this.#clearRepaired(damages);
    if (isWhole) this.verifiedMs = this.#options.clock();
    const which = isWhole ? "sealed segments" : "segments before the snapshot";
    if (damages.length === 0) this.#options.log("journal_verified", `${segments} ${which}`);
  }

  #clearRepaired(damages: readonly JournalDamage[]): void {
    const found = new Set(damages.map(buildDamageKey));
    for (const [key, damage] of this.#damagesByKey) {
      if (found.has(key)) continue;
      this.#damagesByKey.delete(key);
      const isOther = damages.some(({ segment }) => segment === damage.segment);
      if (!isOther) this.#report("journal_mended", damage, `${damage.segment} verifies again`);
    }
  }

  #report(
    event: "journal_damaged" | "journal_mended",
    damage: JournalDamage,
    detail: string,
  ): void {
    const { log, append, clock } = this.#options;
    log(event, detail);
    const record = {
      event: event.replace("_", "."),
      at_ms: clock(),
      segment: damage.segment,
      offset: damage.offset,
      after_position: damage.afterLsn,
      reason: damage.reason,
    };
    append(Buffer.from(JSON.stringify(record))).catch((error: unknown) =>
      log("journal_audit_failed", String(error)),
    );
  }
}

/** Advice to the operator. */
export const DAMAGE_ADVICE =
  "put the file back from a backup before the next start, the service may run meanwhile; in a " +
  "cluster, have it fetched from another node by `trustrank cluster repair`; or stop " +
  "it and let `trustrank doctor --repair` keep all that still proves itself";

/** Describes one damage in one line, for people. */
export function describeDamage({ reason, segment, offset, afterLsn }: JournalDamage): string {
  return `${reason} in ${segment} at byte ${offset}, after position ${afterLsn}`;
}

function buildDamageKey({ segment, offset, reason }: JournalDamage): string {
  return `${segment} ${offset} ${reason}`;
}
