// Registration of a signing key (evidence 1.5): the service gives a nonce, the holder of
// the key signs it, and from then on outcomes of that agent can be signed with it.
import { createMalformedReplyError } from "../transport.ts";
import {
  createOutcomeSigner,
  createKeyProof,
  type OutcomeSigner,
  exportPublicJwk,
  type SigningKeyPair,
} from "./sign.ts";

/** A key, its agent, and its validity period. */
export interface KeyRegistration {
  /** From `generateSigningKey` or `importSigningKey`, or any Ed25519 pair of WebCrypto. */
  readonly keyPair: SigningKeyPair;
  /** Agent of the key; default: the client's own `agentId`. */
  readonly agentId?: string;
  /** Start of validity: RFC 3339 or epoch milliseconds; default: now. */
  readonly notBefore?: string | number;
  /** End of validity: RFC 3339 or epoch milliseconds; default: until it is replaced or revoked. */
  readonly expires?: string | number;
  /** Seconds for which the agent's other keys are still accepted; default: a day. */
  readonly overlapSec?: number;
}

type SendKeyRequest = (
  method: "POST" | "PUT",
  path: string,
  body: object,
) => Promise<{ readonly value: unknown }>;

/** Registers the key and resolves with its signer. Rejects with the errors of `send`. */
export async function registerSigningKey(
  registration: KeyRegistration & { readonly agentId: string },
  send: SendKeyRequest,
): Promise<OutcomeSigner> {
  const { keyPair, agentId, notBefore, expires, overlapSec } = registration;
  const { jwk, kid } = await exportPublicJwk(keyPair);
  const path = `/v1/agents/${encodeURIComponent(agentId)}/keys`;
  const issued = await send("POST", `${path}/nonce`, {});
  const { nonce, audience } = (issued.value ?? {}) as Record<string, unknown>;
  if (typeof nonce !== "string" || typeof audience !== "string") {
    throw createMalformedReplyError("the reply holds no `nonce` and `audience`");
  }
  const proof = await createKeyProof(keyPair, { kid, nonce, audience });
  const { value } = await send("PUT", path, {
    jwk,
    proof,
    not_before: notBefore,
    expires,
    overlap_sec: overlapSec,
  });
  if ((value as { kid?: unknown } | null)?.kid !== kid) {
    throw createMalformedReplyError("the reply is about another key");
  }
  return createOutcomeSigner({ keyPair, audience });
}
