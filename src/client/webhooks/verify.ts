// Signatures of webhooks, verified by the Standard Webhooks rules: HMAC-SHA256 over id, time and the body
// as it came, compared in constant time, and no older than minutes. For receivers; runs wherever
// WebCrypto does.
import { TrustRankError } from "../errors.ts";
import { readWallClockMs } from "../runtime.ts";

/** Headers of a request: those of the Fetch API, or an object as Node and frameworks have it. */
export type WebhookHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** An event that was told. */
export interface WebhookEvent {
  /** `webhook-id`: the same for every attempt. Ignore one that you have seen. */
  readonly id: string;
  /** `decision.denied` and so on; `webhook.test` where an operator tries the endpoint. */
  readonly type: string;
  readonly timestamp: string;
  /** Whose event it is; null for the service's own. */
  readonly tenant: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** How an event is verified. */
export interface VerifyWebhookOptions {
  /** Seconds that the event may be old, or ahead; 300 by default. */
  readonly toleranceSec?: number;
  /** Epoch milliseconds; for tests. */
  readonly now?: () => number;
}

/** The request did not come from the service, or not now: answer it with 401. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
}

const PREFIX = "whsec_";
const TOLERANCE_SEC = 300;
/** Two during a day in which a secret changes; more is nobody's. */
const SIGNATURES_MAX = 16;
const SECONDS = /^[0-9]{1,12}$/;
const HMAC = { name: "HMAC", hash: "SHA-256" } as const;
const encoder = new TextEncoder();

/**
 * The event in a request, once its signature is found good. `body` is what was received, before
 * anything parsed it; `secrets` are the endpoint's, two while one replaces the other.
 * @throws WebhookVerificationError when it is not signed with any of them, or too old;
 *   TrustRankError `invalid_argument` for what is no secret.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSec = TOLERANCE_SEC, now = readWallClockMs }: VerifyWebhookOptions = {},
): Promise<WebhookEvent> {
  const id = readHeader(headers, "webhook-id");
  const seconds = readHeader(headers, "webhook-timestamp");
  const signatures = readHeader(headers, "webhook-signature").split(" ");
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const signed = concatenateBytes(encoder.encode(`${id}.${seconds}.`), bytes);
  const candidates = signatures
    .slice(0, SIGNATURES_MAX)
    .flatMap((each) => (each.startsWith("v1,") ? (decodeBase64(each.slice(3)) ?? []) : []));
  const keys = typeof secrets === "string" ? [secrets] : secrets;
  if (!(await isSignedBy(keys, candidates, signed))) {
    throw new WebhookVerificationError("no signature is by the endpoint's secret");
  }
  // Only what is signed is worth a word about its time.
  const ageSec = Math.abs(now() / 1000 - Number(seconds));
  if (!SECONDS.test(seconds) || !(ageSec <= toleranceSec)) {
    throw new WebhookVerificationError("too old, or from the future");
  }
  return parseWebhookEvent(id, bytes);
}

async function isSignedBy(
  secrets: readonly string[],
  signatures: readonly Uint8Array<ArrayBuffer>[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  for (const secret of secrets) {
    const raw = decodeBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
    if (raw === undefined || raw.byteLength === 0) {
      throw new TrustRankError("invalid_argument", "a secret is `whsec_` and base64");
    }
    const key = await crypto.subtle.importKey("raw", raw, HMAC, false, ["verify"]);
    for (const signature of signatures) {
      if (await crypto.subtle.verify(HMAC, key, signature, signed)) return true;
    }
  }
  return false;
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : findHeaderValue(headers, name);
  if (typeof value === "string" && value !== "") return value;
  throw new WebhookVerificationError(`header \`${name}\` is missing or repeated`);
}

/** Names as Node has them, in lower case, or as somebody wrote them. */
function findHeaderValue(headers: Exclude<WebhookHeaders, Headers>, name: string): unknown {
  if (Object.hasOwn(headers, name)) return headers[name];
  return Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
}

/** Undefined for what is no base64. */
function decodeBase64(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenateBytes(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(head.byteLength + tail.byteLength);
  whole.set(head);
  whole.set(tail, head.byteLength);
  return whole;
}

function parseWebhookEvent(id: string, bytes: Uint8Array): WebhookEvent {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new WebhookVerificationError("the body is not JSON");
  }
  const { type, timestamp, tenant = null, data } = (value ?? {}) as Partial<WebhookEvent>;
  const isEvent = typeof type === "string" && typeof timestamp === "string";
  if (!isEvent || typeof data !== "object" || data === null) {
    throw new WebhookVerificationError("the body is no event");
  }
  return { id, type, timestamp, tenant, data };
}
