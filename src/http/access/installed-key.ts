// The operator's own admin key from the environment: a string of his choice, of which only the digest
// is held, for the life of the process. The environment stays its only source, so nothing here can
// change, rotate or revoke it.
import type { Principal } from "../../contract/principal.ts";
import type { Scope } from "../../contract/vocabulary.ts";
import { hashKeyIdToVoice } from "../../contract/voices.ts";
import { fillMinimumScores } from "./key-changes.ts";
import { hashSecret, type KeyHolder } from "./key-holder.ts";

const SECRET_LENGTH_MIN = 32;
/** Key id of the operator's own key; no generated id has a hyphen. */
export const INSTALLED_KEY_ID = "installed-admin";

export interface InstalledKeyHolder extends KeyHolder {
  readonly digest: Buffer;
}

/** @throws Error when the string is too weak, or longer than `lengthMax`. */
export function createInstalledKeyHolder(secret: string, lengthMax: number): InstalledKeyHolder {
  if (secret.length < SECRET_LENGTH_MIN || /[^\x21-\x7e]/.test(secret)) {
    const length = SECRET_LENGTH_MIN;
    throw new Error(`an admin key needs ${length} or more visible ASCII characters`);
  }
  if (secret.length > lengthMax) {
    throw new Error("an admin key this long does not fit in a header");
  }
  const principal: Principal = {
    keyId: INSTALLED_KEY_ID,
    tenant: "operator",
    scopes: new Set<Scope>(["admin"]),
    minimumScores: fillMinimumScores(undefined),
    isShadow: false,
    isFirstParty: true,
    voice: hashKeyIdToVoice(INSTALLED_KEY_ID),
  };
  return { digest: hashSecret(secret), principal };
}
