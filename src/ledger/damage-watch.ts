// What is known of rot in the sealed segments of the journal: kept for readiness and metrics, told
// to the log and put on record once, and taken back when a later look finds the segment sound.
import type { JournalDamage } from "../journal/faults.ts";
import type { ScrubMessage } from "./messages.ts";

/** How the sealed segments were when they were last looked at. */
export interface JournalHealth {
  readonly damages: readonly JournalDamage[];
  /** Epoch ms of the last look at all of them; undefined before the first. */
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
  #known = new Map<string, JournalDamage>();
  verifiedMs: number | undefined = undefined;

  constructor(options: DamageWatchOptions) {
    this.#options = options;
  }

  get damages(): readonly JournalDamage[] {
    return [...this.#known.values()];
  }

  /** Takes what a look at the segments has found so far. */
  take({ segments, damages, isDone, isWhole }: ScrubMessage): void {
    for (const damage of damages) {
      if (this.#known.has(keyOf(damage))) continue;
      this.#known.set(keyOf(damage), damage);
      this.#tell("journal_damaged", damage, `${describeDamage(damage)}: ${DAMAGE_ADVICE}`);
    }
    if (!isDone) return;
    if (isWhole) this.#forgetAllBut(damages);
    if (isWhole) this.verifiedMs = this.#options.clock();
    const which = isWhole ? "sealed segments" : "segments before the snapshot";
    if (damages.length === 0) this.#options.log("journal_verified", `${segments} ${which}`);
  }

  #forgetAllBut(damages: readonly JournalDamage[]): void {
    const found = new Set(damages.map(keyOf));
    for (const [key, damage] of this.#known) {
      if (found.has(key)) continue;
      this.#known.delete(key);
      const isOther = damages.some(({ segment }) => segment === damage.segment);
      if (!isOther) this.#tell("journal_mended", damage, `${damage.segment} verifies again`);
    }
  }

  #tell(event: "journal_damaged" | "journal_mended", damage: JournalDamage, detail: string): void {
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

/** What to do about it. */
export const DAMAGE_ADVICE =
  "put the file back from a backup before the next start, the service may run meanwhile; or stop " +
  "it and let `trustrank doctor --repair` keep all that still proves itself";

/** One line, for people. */
export function describeDamage({ reason, segment, offset, afterLsn }: JournalDamage): string {
  return `${reason} in ${segment} at byte ${offset}, after position ${afterLsn}`;
}

function keyOf({ segment, offset, reason }: JournalDamage): string {
  return `${segment} ${offset} ${reason}`;
}
