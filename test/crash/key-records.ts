// Plain reference of key records in a journal: outcomes signed with a key do not count from the
// earliest moment that any revocation of it names, wherever in the journal that revocation is.
import type { ReferenceOutcome } from "../reference/fold.ts";

/** An outcome as it is folded, and the key that signed it. */
export interface SignedFold {
  readonly kid: string | undefined;
  /** Epoch ms. */
  readonly recordedAtMs: number;
  readonly outcome: ReferenceOutcome;
}

interface KeyRecord {
  event: "registered" | "revoked";
  kid: string;
  agent?: string;
  compromised_since_ms?: number | null;
}

export class KeyRecords {
  readonly #records: KeyRecord[] = [];
  /** kid -> epoch ms. */
  readonly #since = new Map<string, number>();

  /** The payload of the next record of kind `key`. */
  take(payload: Buffer): void {
    const record = JSON.parse(payload.toString()) as KeyRecord;
    this.#records.push(record);
    const { event, kid, compromised_since_ms: since } = record;
    if (event !== "revoked" || since === null || since === undefined) return;
    this.#since.set(kid, Math.min(since, this.#since.get(kid) ?? since));
  }

  /** Grows with every key of which outcomes are left out. */
  get excludedCount(): number {
    return this.#since.size;
  }

  excludes({ kid, recordedAtMs }: SignedFold): boolean {
    const since = kid === undefined ? undefined : this.#since.get(kid);
    return since !== undefined && recordedAtMs >= since;
  }

  isRevoked(kid: string): boolean {
    return this.#records.some((record) => record.event === "revoked" && record.kid === kid);
  }

  /** Whether the key that the agent registered last was revoked. */
  isNewestRevoked(agent: string): boolean {
    const isOwn = (record: KeyRecord) => record.event === "registered" && record.agent === agent;
    const newest = this.#records.findLast(isOwn);
    return newest !== undefined && this.isRevoked(newest.kid);
  }
}
