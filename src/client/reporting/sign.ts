// Ed25519 signatures by the platform's WebCrypto: detached JWS over the bytes of outcomes (RFC 7515
// appendix F with RFC 7797 `b64:false`: the body travels as it is, the signature in a header), and
// the proof with which a key is registered.
import type { OutcomeRequest, Transaction } from "../messages.ts";
import type { SignedOutcome } from "./outcome-batch.ts";
import { readWallClockMs } from "../runtime.ts";
import { createUuidV7 } from "./uuid.ts";

/** Signs request bodies; made by `createOutcomeSigner` or `TrustRankClient.registerKey`. */
export interface OutcomeSigner {
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  /** Value of `X-JWS-Signature` for exactly this body text; different at every call. */
  sign(body: string): Promise<string>;
}

/** A `CryptoKey`, under any name of the platform's types. */
export type SigningKey = Parameters<typeof crypto.subtle.sign>[1];

/** An Ed25519 pair; the public key must be extractable, the private one need not be. */
export interface SigningKeyPair {
  readonly privateKey: SigningKey;
  readonly publicKey: SigningKey;
}

export interface OutcomeSignerOptions {
  readonly keyPair: SigningKeyPair;
  /** The service's id, from `TrustRankClient.serviceId()`: other services refuse the signature. */
  readonly audience: string;
  /** Epoch milliseconds; defaults to the platform's clock. */
  readonly now?: () => number;
}

/** An Ed25519 private key as a JSON Web Key (RFC 8037). Store it as a secret. */
export interface PrivateKeyJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly d: string;
}

const encoder = new TextEncoder();
const ED25519 = { name: "Ed25519" };

/**
 * A new signing key, as a pair to sign with and as text to store: put `jwk` into a secret store and
 * give it to `importSigningKey` at the next start.
 */
export async function generateSigningKey(): Promise<{
  readonly keyPair: SigningKeyPair;
  readonly jwk: PrivateKeyJwk;
}> {
  const keyPair = (await crypto.subtle.generateKey(ED25519, true, [
    "sign",
    "verify",
  ])) as unknown as SigningKeyPair;
  const { x, d } = await crypto.subtle.exportKey("jwk", keyPair.privateKey);
  return { keyPair, jwk: { kty: "OKP", crv: "Ed25519", x: x as string, d: d as string } };
}

/**
 * The pair of a stored key.
 * @throws TypeError or DOMException when it is not an Ed25519 key.
 */
export async function importSigningKey(jwk: PrivateKeyJwk): Promise<SigningKeyPair> {
  const { kty, crv, x, d } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519") throw new TypeError("the key must be Ed25519");
  const { subtle } = crypto;
  return {
    privateKey: await subtle.importKey("jwk", { kty, crv, x, d }, ED25519, false, ["sign"]),
    publicKey: await subtle.importKey("jwk", { kty, crv, x }, ED25519, true, ["verify"]),
  };
}

/**
 * A signer for one key.
 * @throws TypeError when the keys are not Ed25519.
 */
export async function createOutcomeSigner(options: OutcomeSignerOptions): Promise<OutcomeSigner> {
  const { keyPair, audience, now = readWallClockMs } = options;
  const { kid } = await exportPublicJwk(keyPair);
  return {
    kid,
    async sign(body) {
      const nowMs = now();
      const header = {
        alg: "Ed25519",
        kid,
        typ: "outcome+jws",
        b64: false,
        crit: ["b64"],
        iat: Math.floor(nowMs / 1000),
        jti: createUuidV7(nowMs),
        aud: audience,
      };
      const [head, signature] = await signJws(keyPair, header, body);
      return `${head}..${signature}`;
    },
  };
}

/**
 * An outcome signed by its reporter alone, for a carrier that reports for many: give it to
 * `reportOutcomes` of any client.
 */
export async function signOutcome(
  outcome: OutcomeRequest,
  signer: OutcomeSigner,
): Promise<SignedOutcome> {
  const body = JSON.stringify(outcome);
  return { body, signature: await signer.sign(body) };
}

/**
 * Value of an outcome's `attestation`: by the owner of the subject's namespace or a mediator, over the
 * members that the reporter signs too. The outcome must be reported within seven days.
 * @throws TypeError when the keys are not Ed25519.
 */
export async function signTransaction(
  transaction: Transaction,
  { keyPair, audience, now = readWallClockMs }: OutcomeSignerOptions,
): Promise<string> {
  const { kid } = await exportPublicJwk(keyPair);
  const iat = Math.floor(now() / 1000);
  const header = { alg: "Ed25519", kid, typ: "transaction+jws", iat, aud: audience };
  const payload = encodeBase64Url(encoder.encode(JSON.stringify(transaction)));
  const [head, signature] = await signJws(keyPair, header, payload);
  return `${head}.${payload}.${signature}`;
}

/** The public half in the form for the service, and its RFC 7638 thumbprint. */
export async function exportPublicJwk(keyPair: SigningKeyPair): Promise<{
  readonly jwk: { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string };
  readonly kid: string;
}> {
  const { kty, crv, x } = await crypto.subtle.exportKey("jwk", keyPair.publicKey);
  if (kty !== "OKP" || crv !== "Ed25519" || x === undefined) {
    throw new TypeError("the key must be Ed25519");
  }
  // RFC 7638 §3.2: the required members only, in lexicographic order, without white space.
  const canonical = encoder.encode(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`);
  const kid = encodeBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", canonical)));
  return { jwk: { kty, crv, x }, kid };
}

/** Compact JWS over a nonce of the service: proof of possession of the key at its registration. */
export async function createKeyProof(
  keyPair: SigningKeyPair,
  claims: { readonly kid: string; readonly nonce: string; readonly audience: string },
): Promise<string> {
  const { kid, nonce, audience: aud } = claims;
  const header = { alg: "Ed25519", kid, typ: "key-proof+jws", aud };
  const payload = encodeBase64Url(encoder.encode(nonce));
  const [head, signature] = await signJws(keyPair, header, payload);
  return `${head}.${payload}.${signature}`;
}

/** The protected header and the signature over it and `payload`, both base64url. */
async function signJws(
  { privateKey }: SigningKeyPair,
  header: object,
  payload: string,
): Promise<[string, string]> {
  const head = encodeBase64Url(encoder.encode(JSON.stringify(header)));
  const input = encoder.encode(`${head}.${payload}`);
  const signature = await crypto.subtle.sign(ED25519, privateKey, input);
  return [head, encodeBase64Url(new Uint8Array(signature))];
}

function encodeBase64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
