// `trustrank keys rotate-signing`: another signing key for the bureau, in the files or through the
// running server.
import type { SigningKeySet } from "../../contract/schemas/signing-keys.ts";
import {
  encodePublicKey,
  buildPublishedKeySet,
  readKeySet,
} from "../../journal/signing/key-set.ts";
import type { DataDirectoryClaim } from "../../journal/data-directory.ts";
import { rotateBureauKeyOffline } from "../../ledger/signing/rotate-in-files.ts";
import { CommandFailure } from "../../service/failure.ts";
import { type DataAccess, runOnClaimOrServer } from "../data-access.ts";
import { print, printJson, type OutputFlags } from "../output.ts";

/** Lets another key sign from now on; what the former ones have signed verifies for ever. */
export async function rotateSigningKey(access: DataAccess, flags: OutputFlags): Promise<void> {
  const set = await runOnClaimOrServer<SigningKeySet>(
    access,
    async (claim) => rotateKeyOfClaim(claim),
    (client) => client.sendJson("POST", "/v1/signing-keys/rotate"),
  );
  if (flags.json === true) return printJson(set);
  const [newest, ...former] = set.keys;
  print(`key ${newest!.kid} signs from now on; ${former.length} before it still verify`);
}

/** @throws CommandFailure when there is no key yet. */
function rotateKeyOfClaim(claim: DataDirectoryClaim): SigningKeySet {
  const key = rotateBureauKeyOffline(claim, Date.now());
  if (key === undefined) {
    throw new CommandFailure(`${claim.paths.root} has no signing key: the first start makes one`);
  }
  const { publicKey } = key;
  return buildPublishedKeySet(readKeySet(claim.paths.root, publicKey), encodePublicKey(publicKey));
}
