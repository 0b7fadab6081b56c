// A node that is behind its cluster says of no key and of no id that there is none: another node may just have made it.
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { LagGuard, UNKNOWN_KEY_LAG_MS_MAX } from "../../../src/http/access/lag-guard.ts";
import { generateApiKey, parseApiKey } from "../../../src/http/access/key-format.ts";
import { readMonotonicMs } from "../../../src/platform/moment.ts";
import { COUNT_TIMEOUT_MS } from "../../../src/stream/applied-nodes.ts";
import { StreamMetrics } from "../../../src/stream/metrics.ts";
import { ADMIN_SECRET, describeAdapters, openTestServer } from "../_setup.ts";

const REFUSE_MS = 10_000;
const BEHIND_MS = UNKNOWN_KEY_LAG_MS_MAX + 1;
/** Well-formed, as another node may have made it. */
const OTHER_KEY = generateApiKey("live").text;

it("waits for the spread of a key as long as an unknown key may be refused", () => {
  expect(UNKNOWN_KEY_LAG_MS_MAX).toBeLessThanOrEqual(COUNT_TIMEOUT_MS);
});

describeAdapters("a node that is behind", (adapter) => {
  async function open(ageMs: number) {
    const clock = { nowMs: 1_000_000 };
    const figures = new StreamMetrics();
    figures.setCaughtUpAt({ epochMs: clock.nowMs - ageMs, monotonicMs: readMonotonicMs() });
    const lagGuard = new LagGuard(figures, REFUSE_MS, () => clock.nowMs);
    const service = await openTestServer(adapter, { lagGuard });
    const ask = async (method: string, path: string, key: string, body?: unknown) => {
      const answer = await fetch(`http://127.0.0.1:${service.server.port}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const { code } = (await answer.json()) as { code?: string };
      return [answer.status, code, answer.headers.get("retry-after")];
    };
    return { service, figures, ask, clock };
  }
  const usage = ["GET", "/v1/usage"] as const;

  it("does not refuse a key for good that it does not know, nor an unknown secret of one", async () => {
    const { service, figures, ask, clock } = await open(BEHIND_MS);
    try {
      const known = await service.makeKey(["score:read"]);
      expect(await ask(...usage, OTHER_KEY)).toEqual([503, "node_behind", "5"]);
      expect((await ask(...usage, known))[0], "what it knows").toBe(200);
      const rotated = await service.keyring.rotate(parseApiKey(known)!.keyId, 0);
      expect(await ask(...usage, known), "replaced, maybe undone elsewhere").toEqual([
        503,
        "node_behind",
        "5",
      ]);
      expect((await ask(...usage, rotated.key))[0]).toBe(200);
      const dispute = { agent: "agent://acme/one", statement: "Not so." };
      expect(await ask("POST", "/v1/disputes", OTHER_KEY, dispute)).toEqual([
        503,
        "node_behind",
        "5",
      ]);
      const logIn = await fetch(`${service.base}/console/session`, {
        method: "POST",
        headers: { "sec-fetch-site": "same-origin", "content-type": "application/json" },
        body: JSON.stringify({ key: OTHER_KEY }),
      });
      expect(logIn.status, "the console").toBe(503);
      for (const key of ["nonsense", `${OTHER_KEY.slice(0, -1)}!`]) {
        expect(await ask(...usage, key), key).toEqual([401, "unauthenticated", null]);
      }
      figures.setCaughtUpAt({ epochMs: clock.nowMs, monotonicMs: readMonotonicMs() });
      expect(await ask(...usage, OTHER_KEY)).toEqual([401, "unauthenticated", null]);
    } finally {
      await service.stop();
    }
  });

  it("refuses a key that was revoked here: no other node knows better", async () => {
    const { service, ask } = await open(BEHIND_MS);
    try {
      const key = await service.makeKey(["score:read"]);
      await ask("DELETE", `/v1/keys/${parseApiKey(key)!.keyId}`, ADMIN_SECRET);
      expect(await ask(...usage, key)).toEqual([401, "unauthenticated", null]);
    } finally {
      await service.stop();
    }
  });

  it("answers 404 only after a proof that is newer than the request", async () => {
    const { service, figures, ask, clock } = await open(0);
    try {
      const changes = [
        ["DELETE", "/v1/keys/k3yid00001", undefined],
        ["PATCH", "/v1/keys/k3yid00001", { label: "x" }],
        ["POST", "/v1/keys/k3yid00001/rotate", { overlap_sec: 0 }],
      ] as const;
      for (const [method, path, body] of changes) {
        let isAnswered = false;
        const answer = ask(method, path, ADMIN_SECRET, body).finally(() => (isAnswered = true));
        await pause(100);
        expect(isAnswered, method).toBe(false);
        figures.setCaughtUpAt({ epochMs: clock.nowMs, monotonicMs: readMonotonicMs() });
        expect(await answer).toEqual([404, "not_found", null]);
      }
      expect(await ask("DELETE", "/v1/keys/k3yid00001", ADMIN_SECRET)).toEqual([
        503,
        "node_behind",
        "5",
      ]);
    } finally {
      await service.stop();
    }
  });
});

describe("proofs that are waited for", () => {
  it("are as many as there is room for", async () => {
    vi.useFakeTimers();
    try {
      const figures = new StreamMetrics();
      const guard = new LagGuard(figures, REFUSE_MS, () => 0);
      const waiting = Array.from({ length: 256 }, () => guard.confirmCurrent());
      await expect(guard.confirmCurrent()).rejects.toThrow("behind its cluster");
      figures.setCaughtUpAt({ epochMs: 1, monotonicMs: readMonotonicMs() });
      await vi.advanceTimersByTimeAsync(100);
      await Promise.all(waiting);
      figures.setCaughtUpAt({ epochMs: 1, monotonicMs: readMonotonicMs() + 1000 });
      await guard.confirmCurrent();
    } finally {
      vi.useRealTimers();
    }
  });
});
