// The bureau's signing keys as the service publishes and replaces them: the ledger's thread makes the
// change, this thread's signer follows it before the answer.
import type { SigningKeys } from "../contract/signing-keys.ts";
import { encodedKey, publishedKeys, readKeySet } from "../journal/signing/key-set.ts";
import type { Ground } from "./ground.ts";

/** Opens the set; a file that is no key set stops the start, as the ledger has read it before. */
export function signingKeysOf({
  paths,
  evidence,
}: Pick<Ground, "paths" | "evidence">): SigningKeys {
  const { signer } = evidence.sources;
  const read = () => {
    const keys = readKeySet(paths.root, signer.publicKey);
    return publishedKeys(keys, encodedKey(signer.publicKey));
  };
  let published = read();
  return {
    published: () => published,
    async rotate(actor) {
      await evidence.ledger.rotateSigningKey(actor);
      signer.reload();
      published = read();
      return published;
    },
  };
}
