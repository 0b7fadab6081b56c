// Detached JWS over the bytes of an outcome (RFC 7515 appendix F with RFC 7797 `b64:false`), signed
// with Ed25519 by the platform's WebCrypto. The body travels as it is; the signature in a header.
import { wallClock } from "./runtime.ts";

export interface OutcomeSigner {
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  /** Value of `X-JWS-Signature` for exactly this body text. */
  sign(body: string): Promise<string>;
}

/** A `CryptoKey`, by whatever name the platform's types know it. */
export type SigningKey = Parameters<typeof crypto.subtle.sign>[1];

export interface OutcomeSignerOptions {
  /** An Ed25519 pair; the public key must be extractable, the private one need not be. */
  readonly keyPair: { readonly privateKey: SigningKey; readonly publicKey: SigningKey };
  /** Identifier of the service the outcomes are for: a signature is worth nothing elsewhere. */
  readonly audience: string;
  /** Epoch milliseconds; defaults to the platform's clock. */
  readonly now?: () => number;
}

const encoder = new TextEncoder();

/** A signer for one key. Rejects when the keys are not Ed25519. */
export async function createOutcomeSigner(options: OutcomeSignerOptions): Promise<OutcomeSigner> {
  const { keyPair, audience, now = wallClock } = options;
  const { kty, crv, x } = await crypto.subtle.exportKey("jwk", keyPair.publicKey);
  if (kty !== "OKP" || crv !== "Ed25519" || x === undefined) {
    throw new TypeError("the key must be Ed25519");
  }
  // RFC 7638 §3.2: the required members only, in lexicographic order, without white space.
  const canonical = encoder.encode(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`);
  const kid = base64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", canonical)));
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
        jti: uuidV7(nowMs),
        aud: audience,
      };
      const protectedPart = base64Url(encoder.encode(JSON.stringify(header)));
      const input = encoder.encode(`${protectedPart}.${body}`);
      const signature = await crypto.subtle.sign({ name: "Ed25519" }, keyPair.privateKey, input);
      return `${protectedPart}..${base64Url(new Uint8Array(signature))}`;
    },
  };
}

/** RFC 9562 §5.7: 48 bits of milliseconds, the rest random but for version and variant. */
function uuidV7(nowMs: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(nowMs / 0x1_0000));
  view.setUint16(4, nowMs % 0x1_0000);
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function base64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
