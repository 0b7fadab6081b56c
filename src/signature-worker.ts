// Entry of a pool thread that verifies reporters' signatures.
import { BatchVerifier, type SignatureTask } from "./signature-batch.ts";

const verifier = new BatchVerifier();

/** The task function that the pool calls. */
export default function verifySignatures(task: SignatureTask): Uint8Array {
  return verifier.verify(task);
}
