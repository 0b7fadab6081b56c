// One delivery attempt: a POST to a checked address, bounded in time and in bytes read of the response. Redirects
// are not followed: a receiver that has moved must be registered at its new URL.
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { isIPv6 } from "node:net";
import type { AllowedNetworks } from "./address.ts";
import { resolveTargetAddresses, type NameResolver, TargetRefusedError } from "./target.ts";

/** From the first byte of DNS to the answer's head. */
const TIMEOUT_MS = 15_000;
/** Bytes of an answer that are read away before its connection is closed. */
const REPLY_BYTES_MAX = 64 * 1024;

/** What came of an attempt. */
export interface DeliveryAttempt {
  readonly isDelivered: boolean;
  readonly status: number | undefined;
  /** What went wrong; empty when it was delivered. Nothing of the answer's own. */
  readonly detail: string;
  readonly retryAfterSec: number | undefined;
}

/** Sends one event. Never rejects. */
export type WebhookSender = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
) => Promise<DeliveryAttempt>;

export interface WebhookSenderOptions {
  readonly allowed: AllowedNetworks;
  readonly resolve: NameResolver;
  readonly userAgent: string;
  readonly timeoutMs?: number;
}

/** Sends over connections of their own: none is shared between endpoints. */
export function createWebhookSender({
  allowed,
  resolve,
  userAgent,
  timeoutMs,
}: WebhookSenderOptions): WebhookSender {
  return async (text, headers, body) => {
    const signal = AbortSignal.timeout(timeoutMs ?? TIMEOUT_MS);
    try {
      const url = new URL(text);
      const addresses = await rejectOnAbort(signal, resolveTargetAddresses(url, allowed, resolve));
      const own = { ...headers, "content-type": "application/json", "user-agent": userAgent };
      return buildAttempt(await sendRequest(url, addresses, { headers: own, body, signal }));
    } catch (error) {
      return {
        isDelivered: false,
        status: undefined,
        detail: describePostError(error, signal),
        retryAfterSec: undefined,
      };
    }
  };
}

interface ReceiverResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

interface WebhookPost {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

function sendRequest(
  url: URL,
  addresses: readonly string[],
  { headers, body, signal }: WebhookPost,
): Promise<ReceiverResponse> {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const bytes = Buffer.from(body);
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: "POST",
      headers: { ...headers, "content-length": String(bytes.byteLength), connection: "close" },
      agent: false,
      signal,
      lookup: createPinnedLookup(addresses),
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] });
      let count = 0;
      response.on("error", () => undefined);
      response.on("data", (piece: Buffer) => {
        count += piece.byteLength;
        if (count > REPLY_BYTES_MAX) response.destroy();
      });
    });
    sent.end(bytes);
  });
}

/** Stands in for the system's resolver: connections go to the addresses that were looked at. */
function createPinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, options, done) => {
    if (options.all === true) done(null, found);
    else done(null, found[0]!.address, found[0]!.family);
  };
}

function buildAttempt({ status, retryAfter }: ReceiverResponse): DeliveryAttempt {
  const seconds = /^\d{1,6}$/.test(retryAfter ?? "") ? Number(retryAfter) : undefined;
  const isDelivered = status >= 200 && status < 300;
  return {
    isDelivered,
    status,
    detail: isDelivered ? "" : describeStatus(status),
    retryAfterSec: seconds,
  };
}

function describeStatus(status: number): string {
  const isRedirect = status >= 300 && status < 400;
  return `answered ${status}${isRedirect ? ": redirects are not followed" : ""}`;
}

/** The system's own words for errors name addresses of a network that is not the reader's: codes do. */
function describePostError(error: unknown, signal: AbortSignal): string {
  if (error instanceof TargetRefusedError) return error.message;
  if (signal.aborted) return "no answer in time";
  const { code, errors } = error as { code?: string; errors?: readonly { code?: string }[] };
  const found = code ?? errors?.find((each) => each.code !== undefined)?.code;
  return found === undefined ? "no connection" : `no connection: ${found}`;
}

/** The resolver is not told of the time: its answer may be too late. */
function rejectOnAbort<T>(signal: AbortSignal, awaited: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    awaited.then(resolve, reject);
  });
}
