// The bureau's own signing keys, as the routes need them.
import type { SigningKeySet } from "./schemas/signing-keys.ts";

/** A statement of the bureau, signed. */
export interface SignedStatement {
  /** Compact JWS, Ed25519. */
  readonly jws: string;
  /** RFC 7638 thumbprint of the key. */
  readonly kid: string;
}

export interface SigningKeys {
  /** A JWK set: the key in use first, then those before it, the newest first. */
  listPublishedKeys(): SigningKeySet;
  /**
   * Puts another key in the place of the one in use; resolves with the set once it signs. Rejects with
   * ServiceFault `journal_unavailable` when nothing has changed.
   * @param actor id of the API key that asks.
   */
  rotate(actor: string): Promise<SigningKeySet>;
  /**
   * Signs a statement by the key in use.
   * @param type `typ` of the header: no statement of one type passes for another's.
   */
  sign(type: string, payload: object): SignedStatement;
}
