// Warnings of lost reports: one line for each cause, and none again before it has worked in between. Without a
// callback of the caller's own, lost outcomes would go unnoticed.
import { putBounded } from "../bounded-map.ts";
import { logWarning, readMonotonicMs } from "../runtime.ts";

/** Least milliseconds between two lines about one cause, however often it works in between. */
const WARNING_INTERVAL_MS = 60_000;
/** Causes remembered; of more, the one warned of least recently may be told again. */
const WARNED_CAUSES_MAX = 100;

export class LossWarnings {
  readonly #warned = new Map<string, { readonly atMs: number; isOver: boolean }>();

  /** Warns of a loss, unless its cause was warned of and lasts. Never throws. */
  warn(cause: string, text: string): void {
    const nowMs = readMonotonicMs();
    const last = this.#warned.get(cause);
    if (last !== undefined && !(last.isOver && nowMs - last.atMs >= WARNING_INTERVAL_MS)) return;
    putBounded(this.#warned, cause, { atMs: nowMs, isOver: false }, WARNED_CAUSES_MAX);
    logWarning(`trustrank: ${text}`);
  }

  /** A report was accepted: what was warned of is over, and a later loss is warned of again. */
  recordSuccess(): void {
    for (const warned of this.#warned.values()) warned.isOver = true;
  }
}
