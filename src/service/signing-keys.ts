// The bureau's signing keys as the service publishes and replaces them: the ledger's thread makes the
// change, this thread's signer follows it before the answer.
import type { SigningKeys } from "../contract/signing-keys.ts";
import { encodedKey, publishedKeys, readKeySet, thumbprintOf } from "../journal/signing/key-set.ts";
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
    sign(typ, payload) {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const kid = thumbprintOf(encodedKey(signer.publicKey));
      const input = `${part({ alg: "EdDSA", kid, typ })}.${part(payload)}`;
      const signature = Buffer.from(signer.sign(Buffer.from(input))).toString("base64url");
      return { jws: `${input}.${signature}`, kid };
    },
    async rotate(actor) {
      await evidence.ledger.rotateSigningKey(actor);
      signer.reload();
      published = read();
      return published;
    },
  };
}
