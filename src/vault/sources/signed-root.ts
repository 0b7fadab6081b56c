// Signed tree head of the vault: a compact JWS (RFC 7515, Ed25519) that anyone can check with the
// bureau's public key, long after the bureau is gone. Signed once per head and hour.
import { createHash } from "node:crypto";

import type { SignedRoot } from "../../contract/schemas/sources.ts";

/** Signing key of the bureau, as far as the vault needs it. */
export interface RootSigner {
  /** Raw 32 bytes; another array once another key has taken over. */
  readonly publicKey: Uint8Array;
  /** Ed25519, 64 bytes. */
  sign(message: Uint8Array): Uint8Array;
}

export interface RootHead {
  readonly root: string;
  readonly tree_size: number;
  readonly chain_hash: string;
}

/** `typ` of a signed root: no other signature of the bureau can pass for one. */
const ROOT_TYPE = "vault-root+jws";
/**
 * Age in seconds at which a head is signed again, so that an old one is distinguishable from a live
 * one.
 */
const RESIGN_AFTER_SEC = 3600;

const encodeJsonBase64url = (value: unknown) =>
  Buffer.from(JSON.stringify(value)).toString("base64url");

export class RootSignatureCache {
  readonly #signer: RootSigner;
  readonly #clock: () => number;
  #key: Uint8Array;
  #jwk: SignedRoot["jwk"];
  #header: string;
  #newest: SignedRoot | undefined;
  #signedAt = 0;

  constructor(signer: RootSigner, clock: () => number) {
    this.#signer = signer;
    this.#clock = clock;
    this.#key = signer.publicKey;
    this.#jwk = buildPublicJwk(this.#key);
    this.#header = buildRootHeader(this.#jwk);
  }

  /** The head with its signature; the same until the tree grows or an hour has passed. */
  signRoot(head: RootHead): SignedRoot {
    this.#refreshKey();
    const newest = this.#newest;
    const seconds = Math.floor(this.#clock() / 1000);
    const isSame = newest?.tree_size === head.tree_size && newest.root === head.root;
    if (isSame && seconds - this.#signedAt < RESIGN_AFTER_SEC) return newest;
    this.#signedAt = seconds;
    const { root, tree_size, chain_hash } = head;
    const input = `${this.#header}.${encodeJsonBase64url({ root, tree_size, chain_hash, iat: seconds })}`;
    const signature = Buffer.from(this.#signer.sign(Buffer.from(input))).toString("base64url");
    const signed_at = new Date(seconds * 1000).toISOString();
    this.#newest = { ...head, signed_at, jws: `${input}.${signature}`, jwk: this.#jwk };
    return this.#newest;
  }

  /** After a rotation the same head is signed anew, by the key that is published now. */
  #refreshKey(): void {
    const { publicKey } = this.#signer;
    if (publicKey === this.#key) return;
    this.#key = publicKey;
    this.#jwk = buildPublicJwk(publicKey);
    this.#header = buildRootHeader(this.#jwk);
    this.#newest = undefined;
  }
}

function buildPublicJwk(publicKey: Uint8Array): SignedRoot["jwk"] {
  const x = Buffer.from(publicKey).toString("base64url");
  // RFC 7638: required members in lexical order.
  const thumbprint = JSON.stringify({ crv: "Ed25519", kty: "OKP", x });
  const kid = createHash("sha256").update(thumbprint).digest("base64url");
  return { kty: "OKP", crv: "Ed25519", x, kid, alg: "EdDSA", use: "sig" };
}

function buildRootHeader({ kid }: SignedRoot["jwk"]): string {
  return encodeJsonBase64url({ alg: "EdDSA", kid, typ: ROOT_TYPE });
}
