// Check that `bureau.key` is the key that the journal was signed with, or one that this key has vouched
// for. Another key in its place would sign on, and the key before it would leave the published set.
import { type FileLayer, readFileRange } from "../../platform/files.ts";
import { FileUnusable } from "../faults.ts";
import { decodeSegmentHeader, parseSegmentNames, SEGMENT_HEADER_BYTES } from "../format.ts";
import type { BureauKey } from "../signing-key.ts";
import { computeThumbprint, encodePublicKey, isVouchedFor, readKeySet } from "./key-set.ts";

export interface SignerPaths {
  /** The data directory. */
  readonly root: string;
  readonly journal: string;
  readonly bureauKey: string;
}

/** Raw public key of the journal's newest segment; undefined for an empty journal. */
export function readJournalSigner(files: FileLayer, journal: string): Buffer | undefined {
  // The newest may be without a header: its creation was cut short.
  for (const { name } of parseSegmentNames(files.list(journal)).toReversed()) {
    const bytes = readFileRange(files, `${journal}/${name}`, 0, SEGMENT_HEADER_BYTES);
    const header = decodeSegmentHeader(bytes);
    if (header !== undefined) return header.publicKey;
  }
  return undefined;
}

/** The journal's signer, raw, where `key` is neither this signer nor vouched for by it. */
export function findForeignSigner(
  files: FileLayer,
  { root, journal }: SignerPaths,
  key: Pick<BureauKey, "publicKey">,
): Buffer | undefined {
  const signer = readJournalSigner(files, journal);
  if (signer === undefined || signer.equals(key.publicKey)) return undefined;
  return isVouchedSuccessor(root, signer, key.publicKey) ? undefined : signer;
}

/** Whether each key of the set from `signer` on vouches for the next, up to `current`. */
function isVouchedSuccessor(root: string, signer: Buffer, current: Buffer): boolean {
  const set = readKeySet(root, current);
  if (set === undefined || set.links.at(-1)?.x !== encodePublicKey(current)) return false;
  const known = [set.first, ...set.links.map(({ x }) => x)];
  const at = known.lastIndexOf(encodePublicKey(signer));
  if (at < 0) return false;
  return set.links.slice(at).every((link, index) => isVouchedFor(link, known[at + index]!));
}

/** What is wrong, as an operator reads it; `signer`: raw public key of the journal's signer. */
export function describeForeignKey(key: Pick<BureauKey, "publicKey">, signer: Buffer) {
  const [holds, signed] = [key.publicKey, signer].map((each) =>
    computeThumbprint(encodePublicKey(each)),
  );
  return {
    reason: `it holds the key ${holds}, and the journal is signed by ${signed}`,
    advice:
      "put the former file back, then `trustrank keys rotate-signing` changes the key; if it is lost, `trustrank doctor --repair` goes on under this one; in a cluster copy the file from another node",
  };
}

/** @throws FileUnusable where `key` may not go on with this journal. */
export function assertJournalSigner(files: FileLayer, paths: SignerPaths, key: BureauKey): void {
  const signer = findForeignSigner(files, paths, key);
  if (signer === undefined) return;
  throw new FileUnusable({ path: paths.bureauKey, ...describeForeignKey(key, signer) });
}
