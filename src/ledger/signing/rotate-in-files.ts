// Rotation of the bureau's signing key in a data directory that no service holds: the journal is
// recovered as at a start, but nothing is folded.
import { existsSync } from "node:fs";
import type { DataDirectoryClaim } from "../../journal/data-directory.ts";
import { type FileLayer, diskFileLayer } from "../../platform/files.ts";
import { FRAME_KINDS } from "../../journal/format.ts";
import { Fence } from "../../journal/ownership/fence.ts";
import { recoverJournal } from "../../journal/recovery.ts";
import { type RotationJournal, rotateBureauKey } from "../../journal/signing/rotation.ts";
import { assertJournalSigner } from "../../journal/signing/signer.ts";
import { type BureauKey, loadBureauKey } from "../../journal/signing-key.ts";
import { JournalWriter } from "../../journal/writer.ts";
import { encodeEventFrame } from "../frame-batch.ts";
import { readOrDeriveTableSeed } from "../snapshot/format.ts";
import { readKnownDurablePosition } from "../snapshot/high-water.ts";

/**
 * Puts another key in the place of the one in use; returns it. Undefined when the directory has none
 * yet: the first start makes it.
 * @throws FileUnusable when the journal is signed by another key; JournalDamaged, JournalFull, or the file system's error: then nothing has changed but that the
 *   journal may name a key that was never used.
 */
export function rotateBureauKeyOffline(
  { paths, epoch, owner }: Pick<DataDirectoryClaim, "paths" | "epoch" | "owner">,
  nowMs: number,
  files: FileLayer = diskFileLayer,
): BureauKey | undefined {
  const { root, journal: directory, bureauKey: path } = paths;
  if (!existsSync(path) || !existsSync(directory)) return undefined;
  const former = loadBureauKey(path, false);
  assertJournalSigner(files, paths, former);
  const known = readKnownDurablePosition(files, root, paths.snapshots);
  const { tail } = recoverJournal(files, directory, () => undefined, { known });
  const fence = new Fence(files, root, { owner: owner.id, epoch });
  const writer = new JournalWriter({ files, directory, key: former, epoch, fence, tail });
  try {
    const journal = createWriterRotationJournal(writer);
    const tableSeed = readOrDeriveTableSeed(root, former);
    return rotateBureauKey({ files, path, former, journal, tableSeed, actor: null, nowMs });
  } finally {
    writer.close();
  }
}

function createWriterRotationJournal(writer: JournalWriter): RotationJournal {
  return {
    appendAudit(payload, nowMs) {
      writer.append([encodeEventFrame(FRAME_KINDS.audit, payload)], nowMs * 1000);
    },
    useKey: (key) => writer.useKey(key),
  };
}
