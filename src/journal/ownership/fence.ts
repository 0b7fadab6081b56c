// Fence of a writer against a later owner. The lock keeps two owners apart; where it fails (somebody
// removed its file, a file system lost it) the one that was there first finds a higher epoch, and stops.
import { join } from "node:path";
import { OwnershipLost } from "../faults.ts";
import { type FileLayer, readWhole } from "../../platform/files.ts";
import { EPOCH_FILE, type DirectoryOwner, OWNER_FILE, formatOwner } from "./owner.ts";

/** Longest time in ms that a writer goes on without a look. */
const CHECK_INTERVAL_MS = 1000;

export class Fence {
  readonly #files: FileLayer;
  readonly #root: string;
  readonly #epoch: number;
  readonly #owner: string;
  #checkedMs = -Infinity;

  /** `owner` is the id of this process's ownership. */
  constructor(files: FileLayer, root: string, { owner, epoch }: { owner: string; epoch: number }) {
    this.#files = files;
    this.#root = root;
    this.#owner = owner;
    this.#epoch = epoch;
  }

  /** Looks when the last look is a second old, or the clock went back. @throws as `look`. */
  assertOwnerIfDue(nowMs: number): void {
    const sinceMs = nowMs - this.#checkedMs;
    if (sinceMs >= 0 && sinceMs < CHECK_INTERVAL_MS) return;
    this.assertOwner();
    this.#checkedMs = nowMs;
  }

  /** @throws OwnershipLost when another process has become the directory's owner. */
  assertOwner(): void {
    const epoch = this.#read<number>(EPOCH_FILE) ?? 0;
    const owner = this.#read<DirectoryOwner>(OWNER_FILE);
    const isOther = owner !== undefined && owner.id !== this.#owner;
    if (epoch <= this.#epoch && !isOther) return;
    const by = isOther ? `${formatOwner(owner)}, epoch ${owner.epoch}` : `epoch ${epoch}`;
    throw new OwnershipLost(by, this.#epoch);
  }

  /** Undefined for a file that is not there or not whole: nobody has taken anything by that. */
  #read<T>(name: string): T | undefined {
    try {
      const text = readWhole(this.#files, join(this.#root, name)).toString("utf8");
      return (JSON.parse(text) as T | null) ?? undefined;
    } catch {
      return undefined;
    }
  }
}
