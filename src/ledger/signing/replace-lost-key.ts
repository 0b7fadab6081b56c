// Records that another signing key took over without a voucher, because the key before it is lost: in a
// data directory that no service holds. The former public key stays in the published set.
import type { DataDirectoryClaim } from "../../journal/data-directory.ts";
import { FRAME_KINDS, readFrameKind } from "../../journal/format.ts";
import { Fence } from "../../journal/ownership/fence.ts";
import { recoverJournal } from "../../journal/recovery.ts";
import { JournalRepairRefused } from "../../journal/repair.ts";
import { computeThumbprint, encodePublicKey } from "../../journal/signing/key-set.ts";
import { addToKeySet } from "../../journal/signing/rotation.ts";
import { findForeignSigner } from "../../journal/signing/signer.ts";
import { loadBureauKey } from "../../journal/signing-key.ts";
import { JournalWriter } from "../../journal/writer.ts";
import { type FileLayer, diskFileLayer } from "../../platform/files.ts";
import { encodeEventFrame } from "../frame-batch.ts";
import { readOrDeriveTableSeed } from "../snapshot/format.ts";
import { readKnownDurablePosition } from "../snapshot/high-water.ts";

/** Name of the journal's record of it, of kind `audit`. */
const REPLACED_EVENT = "bureau_key.replaced";

/**
 * Lets the key in `bureau.key` go on with the journal of another; false where it may already.
 * @param nowMs epoch ms.
 * @throws JournalRepairRefused for the journal of a cluster's node; JournalDamaged, JournalFull.
 */
export function replaceLostBureauKey(
  { paths, epoch, owner }: Pick<DataDirectoryClaim, "paths" | "epoch" | "owner">,
  nowMs: number,
  files: FileLayer = diskFileLayer,
): boolean {
  const { root, journal: directory, bureauKey, snapshots } = paths;
  const key = loadBureauKey(bureauKey, false);
  const signer = findForeignSigner(files, paths, key);
  if (signer === undefined) return false;
  let isOrdered = false;
  const visit = (bytes: Buffer, at: number) => {
    isOrdered ||= readFrameKind(bytes, at) === FRAME_KINDS.stream;
  };
  const known = readKnownDurablePosition(files, root, snapshots);
  const { tail } = recoverJournal(files, directory, visit, { known });
  if (isOrdered) {
    throw new JournalRepairRefused(
      "all nodes of a cluster sign with one key: copy `bureau.key` from another node",
    );
  }
  const x = encodePublicKey(key.publicKey);
  const former = { publicKey: signer };
  const link = { x, fromMs: nowMs, vouchedBy: "" };
  // The set first: until the record begins a segment under this key, every start is refused.
  addToKeySet(files, root, { link, former, tableSeed: readOrDeriveTableSeed(root, key) });
  const formerX = encodePublicKey(signer);
  const kids = { kid: computeThumbprint(x), former_kid: computeThumbprint(formerX) };
  const record = {
    event: REPLACED_EVENT,
    at_ms: nowMs,
    ...kids,
    x,
    former_x: formerX,
    actor: null,
  };
  const fence = new Fence(files, root, { owner: owner.id, epoch });
  const writer = new JournalWriter({ files, directory, key, epoch, fence, tail });
  try {
    const payload = Buffer.from(JSON.stringify(record));
    writer.append([encodeEventFrame(FRAME_KINDS.audit, payload)], nowMs * 1000);
  } finally {
    writer.close();
  }
  return true;
}
