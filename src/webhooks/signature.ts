// Signatures by the Standard Webhooks rules: HMAC-SHA256 over id, time and body with a secret of
// `whsec_` and base64. A receiver verifies them with any library of that specification.
import { createHmac } from "node:crypto";

const SECRET_PREFIX = "whsec_";
/** The rules ask for 24 to 64. */
export const WEBHOOK_SECRET_BYTES = 32;

/** A secret's text. */
export function formatSecret(bytes: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(bytes).toString("base64");
}

/** Headers of one attempt. Every secret signs, so that a receiver may hold either of two. */
export function buildSignedHeaders(
  secrets: readonly string[],
  id: string,
  atMs: number,
  body: string,
): Record<string, string> {
  const seconds = String(Math.floor(atMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": signatures.join(" "),
  };
}
