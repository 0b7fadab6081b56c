// The bureau's signing keys as the service publishes and replaces them: the ledger's thread makes the
// change, this thread's signer follows it before the answer.
import { ServiceFault } from "../contract/faults.ts";
import type { SigningKeys } from "../contract/signing-keys.ts";
import {
  encodePublicKey,
  buildPublishedKeySet,
  readKeySet,
  computeThumbprint,
} from "../journal/signing/key-set.ts";
import type { ServiceStorage } from "./storage.ts";

const CLUSTER_ROTATION_REFUSAL =
  "all nodes sign with one key: stop them, rotate and run `trustrank cluster restore` on the files of one, and give the others a copy of it";

/** Opens the set; a file that is no key set stops the start, as the ledger has read it before. */
export function openSigningKeys({
  paths,
  evidence,
  cluster,
}: Pick<ServiceStorage, "paths" | "evidence" | "cluster">): SigningKeys {
  const { signer } = evidence.sources;
  const read = () => {
    const keys = readKeySet(paths.root, signer.publicKey);
    return buildPublishedKeySet(keys, encodePublicKey(signer.publicKey));
  };
  let published = read();
  return {
    listPublishedKeys: () => published,
    sign(typ, payload) {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const kid = computeThumbprint(encodePublicKey(signer.publicKey));
      const input = `${part({ alg: "EdDSA", kid, typ })}.${part(payload)}`;
      const signature = Buffer.from(signer.sign(Buffer.from(input))).toString("base64url");
      return { jws: `${input}.${signature}`, kid };
    },
    async rotate(actor) {
      // Journals are equal to the last byte: no node may sign with a key of its own.
      if (cluster !== undefined) throw new ServiceFault("not_in_cluster", CLUSTER_ROTATION_REFUSAL);
      await evidence.ledger.rotateSigningKey(actor);
      signer.reload();
      published = read();
      return published;
    },
  };
}
