// Messages of the bureau's own signing keys: the published set (RFC 7517).
import * as t from "./schema.ts";

/** A public key of the bureau, with the time in which it signs. */
export const SigningKey = t.defineMessage("SigningKey", {
  kty: t.defineChoice(["OKP"]),
  crv: t.defineChoice(["Ed25519"]),
  x: t.text,
  /** RFC 7638 thumbprint. */
  kid: t.text,
  alg: t.defineChoice(["EdDSA"]),
  use: t.defineChoice(["sig"]),
  valid_from: t.withDescription(t.timeOrNull, "null: since before the first rotation"),
  valid_until: t.withDescription(
    t.timeOrNull,
    "When the next took over; null: in use. It verifies for ever.",
  ),
  vouched_by: t.withDescription(
    t.textOrNull,
    "Compact JWS of `{jwk, iat}`, `typ` `bureau-key+jws`, by the key before it; null: the first.",
  ),
});
export type SigningKey = t.MessageOf<typeof SigningKey>;

/** `GET /.well-known/jwks.json`. */
export const SigningKeySet = t.defineMessage("SigningKeySet", { keys: t.defineList(SigningKey) });
export type SigningKeySet = t.MessageOf<typeof SigningKeySet>;
