// RFC 3339 times for the hot path. Formatting a Date per reply costs more than the whole policy;
// within one second only the milliseconds change, so the rest is cached.
import { VERDICT_TTL_MS } from "../../contract/limits.ts";

const MS_PER_SECOND = 1000;

/** ".000Z" to ".999Z". */
const MS_SUFFIX: readonly string[] = Array.from(
  { length: MS_PER_SECOND },
  (_, ms) => `.${String(ms).padStart(3, "0")}Z`,
);

function formatSecondPrefix(second: number): string {
  return new Date(second * MS_PER_SECOND).toISOString().slice(0, 19);
}

/** The two times of a verdict, remade only when the second changes. One per bureau. */
export class VerdictTimes {
  #nowMs = Number.NaN;
  #second = Number.NaN;
  #evaluatedPrefix = "";
  #expiresPrefix = "";
  evaluatedAt = "";
  /** SPEC §8.3: five minutes later. */
  expiresAt = "";

  /** Sets both fields for an evaluation at `nowMs` (epoch ms, not negative). */
  set(nowMs: number): void {
    if (nowMs === this.#nowMs) return;
    this.#nowMs = nowMs;
    const second = Math.floor(nowMs / MS_PER_SECOND);
    if (second !== this.#second) {
      this.#second = second;
      this.#evaluatedPrefix = formatSecondPrefix(second);
      this.#expiresPrefix = formatSecondPrefix(second + VERDICT_TTL_MS / MS_PER_SECOND);
    }
    const suffix = MS_SUFFIX[Math.floor(nowMs - second * MS_PER_SECOND)]!;
    this.evaluatedAt = this.#evaluatedPrefix + suffix;
    this.expiresAt = this.#expiresPrefix + suffix;
  }
}
