// A key of the API that is made, asked with over and over, and revoked.
import { setTimeout as wait } from "node:timers/promises";
import { ADMIN_KEY } from "../../bench/server-process.ts";

const ADMIN = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
const ASK_MS = 5000;
/** Between two questions with the same key: below its limit of rate. */
const PAUSE_MS = 2;
export const BELIEVED = "believed";
/** Code of the answer to a key that is unknown, or was revoked. */
export const UNKNOWN_KEY = "unauthenticated";
/** Code of the answer of a node that has not heard of the others for too long. */
export const BEHIND = "node_behind";
const TOO_MANY = "rate_limited";

/** A read of a score, or a request of another kind. */
export type Question = "verify" | "usage";

export interface KeyWatch {
  /** Resolves when the key was believed for the first time. */
  readonly believed: Promise<void>;
  /** Resolves when it was refused after that. */
  readonly refused: Promise<void>;
  /** When the last question was sent that was answered, by `performance.now()`. */
  readonly lastBelievedAt: number;
  readonly asks: number;
}

/** @throws Error when the node does not make one. */
export async function createKey(url: string): Promise<{ key: string; keyId: string }> {
  const body = JSON.stringify({ tenant: "revoked", scopes: ["score:read"] });
  const reply = await fetch(`${url}/v1/keys`, { method: "POST", headers: ADMIN, body });
  if (reply.status !== 201) throw new Error(`no key: ${reply.status} ${await reply.text()}`);
  const { key, key_id: keyId } = (await reply.json()) as { key: string; key_id: string };
  return { key, keyId };
}

/** @throws Error when the node does not revoke it. */
export async function revoke(url: string, keyId: string): Promise<void> {
  const reply = await fetch(`${url}/v1/keys/${keyId}`, { method: "DELETE", headers: ADMIN });
  if (reply.status !== 200) throw new Error(`not revoked: ${reply.status} ${await reply.text()}`);
  await reply.arrayBuffer();
}

/** Whether one request with the key is answered; else the code of the problem. */
export async function asked(url: string, key: string, question: Question): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const signal = AbortSignal.timeout(ASK_MS);
  const body = JSON.stringify({
    agent_id: "agent://shop/seller-1",
    action: "shop.purchase",
    tool_level: "L1",
    context: {},
  });
  const reply =
    question === "usage"
      ? await fetch(`${url}/v1/usage`, { headers, signal })
      : await fetch(`${url}/v1/trust/verify`, { method: "POST", headers, body, signal });
  if (reply.ok) {
    await reply.arrayBuffer();
    return BELIEVED;
  }
  return ((await reply.json()) as { code: string }).code;
}

/** Asks over and over until the key is refused for that reason after it was believed. */
export function watchKey(url: string, key: string, question: Question, reason: string): KeyWatch {
  const believed = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<void>();
  const watch = {
    believed: believed.promise,
    refused: refused.promise,
    lastBelievedAt: 0,
    asks: 0,
  };
  const run = async () => {
    for (;;) {
      const sentAt = performance.now();
      const answer = await asked(url, key, question);
      watch.asks++;
      if (answer === BELIEVED) {
        watch.lastBelievedAt = sentAt;
        believed.resolve();
      } else if (answer === reason && watch.lastBelievedAt > 0) return refused.resolve();
      else if (![UNKNOWN_KEY, BEHIND, TOO_MANY].includes(answer))
        throw new Error(`${question} was answered with ${answer}`);
      await wait(PAUSE_MS);
    }
  };
  run().catch((error: unknown) => {
    believed.reject(error);
    refused.reject(error);
  });
  return watch;
}
