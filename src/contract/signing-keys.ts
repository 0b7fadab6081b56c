// The bureau's own signing keys, as the routes need them.
import type { SigningKeySet } from "./schemas/signing-keys.ts";

export interface SigningKeys {
  /** A JWK set: the key in use first, then those before it, the newest first. */
  published(): SigningKeySet;
  /**
   * Puts another key in the place of the one in use; resolves with the set once it signs. Rejects with
   * ServiceFault `journal_unavailable` when nothing has changed.
   * @param actor id of the API key that asks.
   */
  rotate(actor: string): Promise<SigningKeySet>;
}
