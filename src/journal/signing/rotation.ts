// Rotation of the bureau's signing key: another key takes over, vouched for by the one before it in
// the journal and in the key set. The rename of its file is the one moment at which it happens: a
// crash before leaves an announcement without effect, a crash after is a rotation that is done.
import { dirname } from "node:path";
import type { FileLayer } from "../../platform/files.ts";
import { type BureauKey, prepareBureauKey } from "../signing-key.ts";
import {
  encodePublicKey,
  type KeyLink,
  type BureauKeySet,
  createKeyLink,
  readKeySet,
  computeThumbprint,
  writeKeySet,
} from "./key-set.ts";

/** Name of the journal's record of it, of kind `audit`. */
export const ROTATED_EVENT = "bureau_key.rotated";

/** The journal, as far as a rotation needs it. */
export interface RotationJournal {
  /**
   * Makes a record of kind `audit` durable, under the former key.
   * @throws JournalFull when the disk is full: nothing has happened.
   */
  appendAudit(payload: Uint8Array, nowMs: number): void;
  /** Signs with another key from the next record on, in a segment of its own. */
  useKey(key: BureauKey): void;
}

export interface KeyRotationOptions {
  readonly files: FileLayer;
  /** Path of `bureau.key`. */
  readonly path: string;
  readonly former: BureauKey;
  readonly journal: RotationJournal;
  /** Key of the identifier hash in use, which stays. */
  readonly tableSeed: bigint;
  /** Id of the API key that asks; null: a command on the files. */
  readonly actor: string | null;
  /** Epoch ms. */
  readonly nowMs: number;
}

/**
 * Puts another key in the place of the former, durably; returns it.
 * @throws JournalFull, or the file system's error, when nothing has changed but that the journal may
 *   name a key that was never used.
 */
export function rotateBureauKey(options: KeyRotationOptions): BureauKey {
  const { files, path, former, journal, nowMs } = options;
  const root = dirname(path);
  const next = prepareBureauKey(files, path);
  const link = createKeyLink(next.key.publicKey, former, nowMs);
  journal.appendAudit(encodeRotationRecord(link, former, options), nowMs);
  addToKeySet(files, root, { link, former, tableSeed: options.tableSeed });
  next.install();
  journal.useKey(next.key);
  return next.key;
}

interface KeyAddition {
  readonly link: KeyLink;
  /** The key that signs until then. */
  readonly former: Pick<BureauKey, "publicKey">;
  /** Key of the identifier hash in use, which stays. */
  readonly tableSeed: bigint;
}

/** Adds a key to the set, durably, after the former; the file is made where there is none. */
export function addToKeySet(files: FileLayer, root: string, addition: KeyAddition): void {
  const before = readKeySet(root, addition.former.publicKey);
  writeKeySet(files, root, appendKeyLink(before, addition));
}

function appendKeyLink(
  before: BureauKeySet | undefined,
  { link, former, tableSeed }: KeyAddition,
): BureauKeySet {
  const x = encodePublicKey(former.publicKey);
  if (before === undefined) return { first: x, links: [link], tableSeed };
  const known = [before.first, ...before.links.map((each) => each.x)];
  // After a repair made another key, what came before is in the journal alone.
  if (!known.includes(x)) return { first: x, links: [link], tableSeed };
  return { ...before, links: [...before.links, link], tableSeed };
}

/** Payload of the journal's record. */
function encodeRotationRecord(
  link: KeyLink,
  former: BureauKey,
  { actor, nowMs }: KeyRotationOptions,
) {
  const formerX = encodePublicKey(former.publicKey);
  return Buffer.from(
    JSON.stringify({
      event: ROTATED_EVENT,
      at_ms: nowMs,
      kid: computeThumbprint(link.x),
      x: link.x,
      former_kid: computeThumbprint(formerX),
      former_x: formerX,
      vouched_by: link.vouchedBy,
      actor,
    }),
  );
}

/** Which keys may follow one another in a journal: each must be announced by the one before it. */
export class KeySuccession {
  #key: string | undefined;
  readonly #announced = new Set<string>();

  /** A segment under this key begins; returns whether it may. */
  beginSegment(publicKey: Uint8Array): boolean {
    const key = encodePublicKey(publicKey);
    if (key === this.#key) return true;
    const may = this.#key === undefined || this.#announced.has(key);
    this.#key = key;
    this.#announced.clear();
    return may;
  }

  /** A record of kind `audit` in that segment. */
  applyAuditRecord(payload: Buffer): void {
    if (!payload.includes(ROTATED_EVENT)) return;
    try {
      const { event, x } = JSON.parse(payload.toString()) as { event?: unknown; x?: unknown };
      if (event === ROTATED_EVENT && typeof x === "string") this.#announced.add(x);
    } catch {
      // Another event's, of a form that is not for us to judge.
    }
  }
}
