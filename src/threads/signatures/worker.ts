// Worker entry that verifies reporters' signatures, alone or with the batch that carries them: a
// batch comes in as bytes and goes back as journal frames.
import { randomFillSync } from "node:crypto";
import {
  OutcomeBatchReader,
  type OutcomeIntakeTask,
  type ReadBatchResult,
} from "../../bureau/outcomes/batch-reader.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { ATTESTERS } from "../../contract/vocabulary.ts";
import { openEd25519 } from "../../platform/ed25519.ts";
import { transferResult } from "../../platform/pool.ts";
import { FRAME_KINDS } from "../../journal/format.ts";
import { encodeBatchEvidence, addEvidenceId } from "../../journal/proof.ts";
import { FrameBatch } from "../../ledger/frame-batch.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import { UuidV7Generator } from "../../platform/uuid.ts";
import { type SignatureTask, verifySignatureBatch } from "./batch.ts";
import { encodeFault, type EncodedFault } from "../../contract/encoded-fault.ts";

/** A batch, and the key events since the pool last sent some. */
export interface IntakeWork {
  readonly task: OutcomeIntakeTask;
  /** Key events up to here must be known; `keyEvents` are those from `keysFrom` on. */
  readonly keyCount: number;
  readonly keysFrom: number;
  readonly keyEvents: readonly Uint8Array[];
}

export interface IntakeFrames {
  /** Alone in its buffer. */
  readonly frames: Uint8Array<ArrayBuffer>;
  /** Records in the frames: the evidence, if there is any, then the rows that are no faults. */
  readonly count: number;
  readonly evidenceId: string;
  /** Per row: the id of the record to be written, or the fault of the row. */
  readonly rows: readonly (string | EncodedFault)[];
  /** Per row: 1 when its reporter signed. */
  readonly isSigned: Uint8Array;
  /** Per row: index into GRADES of a claimed grade that it does not weigh as, -1 for none. */
  readonly claimedGrades: Int8Array;
  /** Per row: index into ATTESTERS of who attests it, -1 for none. */
  readonly attesters: Int8Array;
}

/** `knows`: number of key events that the thread has folded; the pool must send the later ones. */
export type IntakeReply = IntakeFrames | { fault: EncodedFault } | { knows: number };

/** Nice value: below the threads that answer and sync, above the store's. */
const NICE_VALUE = 5;

lowerThreadPriority(NICE_VALUE);
const verifySignature = openEd25519();
const reader = new OutcomeBatchReader(
  new UuidV7Generator(randomFillSync),
  (key, signature, message) => Promise.resolve(verifySignature(key, signature, message)),
);

/** The task function that the pool calls. */
export default function runSignatureTask(
  given: SignatureTask | IntakeWork,
): Uint8Array | Promise<IntakeReply> {
  return "task" in given ? readIntakeBatch(given) : verifySignatureBatch(verifySignature, given);
}

async function readIntakeBatch(given: IntakeWork): Promise<IntakeReply> {
  if (reader.keyEventCount < given.keysFrom) return { knows: reader.keyEventCount };
  for (const payload of given.keyEvents.slice(reader.keyEventCount - given.keysFrom)) {
    reader.applyRegistryEvent(payload);
  }
  if (reader.keyEventCount < given.keyCount) return { knows: reader.keyEventCount };
  try {
    return encodeBatchFrames(await reader.read(given.task));
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    return { fault: encodeFault(thrown) };
  }
}

function encodeBatchFrames({ rows, evidence }: ReadBatchResult): IntakeFrames {
  const batch = new FrameBatch();
  const whole = evidence === undefined ? undefined : addEvidenceId(evidence);
  if (whole !== undefined) batch.addEvent(FRAME_KINDS.evidence, encodeBatchEvidence(whole));
  const isSigned = new Uint8Array(rows.length);
  const claimedGrades = new Int8Array(rows.length).fill(-1);
  const attesters = new Int8Array(rows.length).fill(-1);
  const answered = rows.map((row, index) => {
    if (row instanceof ServiceFault) return encodeFault(row);
    if (whole !== undefined) {
      const { kid, jti, evidenceId } = whole;
      row.signature = "reporter";
      row.proof = { kind: "batch", kid, jti, evidenceId, index };
      row.idempotencyKey ||= `jws\n${kid}\n${jti}\n${index}`;
    }
    if (row.signature === "reporter") isSigned[index] = 1;
    claimedGrades[index] = row.claimedGradeIndex ?? -1;
    if (row.attestation !== undefined)
      attesters[index] = ATTESTERS.indexOf(row.attestation.attester);
    batch.addOutcome(row);
    return row.outcomeId;
  });
  const { bytes, count } = batch.drain();
  const frames = new Uint8Array(bytes.buffer as ArrayBuffer, 0, bytes.byteLength);
  const evidenceId = whole?.evidenceId ?? "";
  const marks = { isSigned, claimedGrades, attesters };
  return transferResult({ frames, count, evidenceId, rows: answered, ...marks }, [frames.buffer]);
}
