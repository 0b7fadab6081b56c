// The journal as a rotation of its signing key needs it, over the ledger's one path of evidence: while
// the service runs nothing else may append.
import { JournalFull } from "../../journal/faults.ts";
import { FRAME_KINDS } from "../../journal/format.ts";
import type { RotationJournal } from "../../journal/signing/rotation.ts";
import type { LedgerCore } from "../core.ts";
import { encodeEventFrame } from "../frame-batch.ts";
import { VERDICT_RECORDED } from "../replay-guard.ts";

export function createCoreRotationJournal(
  core: Pick<LedgerCore, "commit" | "useKey">,
): RotationJournal {
  return {
    appendAudit(payload, nowMs) {
      const [result] = core.commit([encodeEventFrame(FRAME_KINDS.audit, payload)], nowMs);
      if (result?.verdict !== VERDICT_RECORDED) {
        throw new JournalFull("no room to announce another key");
      }
    },
    useKey: (key) => core.useKey(key),
  };
}
