// Promises to an operator: after kill -9 the service answers as before, and SIGTERM under load
// answers everything it accepted, syncs, closes and exits 0 within ten seconds.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import type { OutcomeReceipt } from "../../src/contract/schemas/outcomes.ts";
import type { CheckResponse } from "../../src/contract/schemas/scores.ts";
import type { PolicyDocument } from "../../src/contract/schemas/policy.ts";
import { endAll, startCommand } from "../cli/_process.ts";
import { post } from "./_world.ts";
import { stretched } from "../_patience.ts";

const KEY = "restart-suite-admin-key-0123456789abcdefghi";
const folder = mkdtempSync(path.join(tmpdir(), "trustrank-restart-"));
const EXIT_MS_MAX = 10_000;
/** Seconds pass between two askings: evidence decays by about this many points. */
const DECAY_POINTS = 0.05;

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function start(name: string, httpThreads = 1) {
  const threads = ["--http-threads", String(httpThreads)];
  const at = ["--data-dir", path.join(folder, name), ...threads];
  const started = startCommand(["serve", "--port", "0", "--json", ...at], {
    TRUSTRANK_ADMIN_KEY: KEY,
  });
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { started, url };
}

const SUBJECTS = [
  "agent://globex/price-scout",
  "agent://acme/procurement-bot",
  "agent://test/none",
  "agent://restart/reported",
];

async function answers(url: string): Promise<CheckResponse[]> {
  const asked = SUBJECTS.flatMap((subject) =>
    [1, 100, 10_000].map(async (stakes) => {
      const response = await post(url, "/v1/check", { subject, stakes }, KEY);
      return (await response.json()) as CheckResponse;
    }),
  );
  return Promise.all(asked);
}

function outcome(i: number) {
  return {
    subject: "agent://restart/reported",
    reporter: `agent://restart/reporter-${i}`,
    outcome: i % 4 === 0 ? 0 : 1,
    stakes: 20,
    grade: "escrow",
    id: `restart-${i}`,
  };
}

test.each([1, 2])("killed and started again, %i HTTP threads", async (httpThreads) => {
  const name = `killed-${httpThreads}`;
  const first = await start(name, httpThreads);
  const receipts = await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const response = await post(first.url, "/v1/outcomes", outcome(i), KEY);
      expect(response.status).toBe(201);
      return (await response.json()) as OutcomeReceipt;
    }),
  );
  const before = await answers(first.url);
  first.started.process.kill("SIGKILL");
  await first.started.ended;
  const second = await start(name, httpThreads);
  const after = await answers(second.url);
  after.forEach((answer, i) => {
    const { decision, tier, regime, reason_codes, config_version, effective_score } = before[i]!;
    expect(answer).toMatchObject({ decision, tier, reason_codes, config_version });
    expect(answer.regime).toBe(regime);
    expect(Math.abs(answer.effective_score - effective_score)).toBeLessThan(DECAY_POINTS);
  });
  for (const [i, receipt] of receipts.entries()) {
    const response = await post(second.url, "/v1/outcomes", outcome(i), KEY);
    expect(response.status, "a repeat, not a second count").toBe(200);
    expect(await response.json()).toEqual({ ...receipt, duplicate: true });
  }
});

test("a policy survives kill -9: what was answered is in force after", async () => {
  const policyAt = async (url: string, method: string, body?: object) => {
    const response = await fetch(`${url}/v1/policy?tenant=acme`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.status).toBe(200);
    return (await response.json()) as PolicyDocument;
  };
  const first = await start("policy");
  const shipped = await policyAt(first.url, "GET");
  await policyAt(first.url, "PUT", { levels: { L3: { allow_up_to: 0.02 } } });
  const set = await policyAt(first.url, "PUT", { levels: { L3: { allow_up_to: 0.01 } } });
  first.started.process.kill("SIGKILL");
  await first.started.ended;
  const second = await start("policy");
  expect(await policyAt(second.url, "GET")).toEqual(set);
  expect(set.policy.levels.L3.allow_up_to).toBe(0.01);
  expect(set.version).not.toBe(shipped.version);
});

test("SIGTERM under load: every accepted request is answered, exit 0", async () => {
  const { started, url } = await start("drained");
  const statuses = new Map<number | string, number>();
  let isOver = false;
  const client = async (i: number): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      const isWrite = n % 3 === 0;
      const route = isWrite ? "/v1/outcomes" : "/v1/check";
      const body = isWrite ? outcome(i * 10_000 + n) : { subject: SUBJECTS[0], stakes: 5 };
      const status = await post(url, route, body, KEY).then(
        async (response) => {
          // A reply cut short would reject here.
          await response.arrayBuffer();
          return response.status;
        },
        (error: Error & { cause?: { code?: string } }) => error.cause?.code ?? "unknown",
      );
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (typeof status === "string") return;
    }
  };
  const clients = Array.from({ length: 16 }, (_, i) => client(i));
  while ((statuses.get(200) ?? 0) < 200) await new Promise((resolve) => setImmediate(resolve));
  const signalledAt = performance.now();
  started.process.kill("SIGTERM");
  const { code, signal } = await started.ended;
  isOver = true;
  await Promise.all(clients);
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  expect(performance.now() - signalledAt).toBeLessThan(stretched(EXIT_MS_MAX));
  // Answered, told to come back, or met a closed socket before the server read it (an idle
  // keep-alive connection ends while the next request is on its way).
  const closed = ["ECONNREFUSED", "ECONNRESET", "UND_ERR_SOCKET"];
  const allowed = new Set<number | string>([200, 201, 503, ...closed]);
  for (const status of statuses.keys()) expect(allowed, String(status)).toContain(status);
  const restarted = await start("drained");
  const acknowledged = statuses.get(201) ?? 0;
  const explained = await fetch(
    `${restarted.url}/v1/agents/${encodeURIComponent("agent://restart/reported")}`,
    { headers: { authorization: `Bearer ${KEY}` } },
  );
  const { evidence } = (await explained.json()) as { evidence: { outcomes: number } };
  expect(evidence.outcomes).toBeGreaterThanOrEqual(acknowledged);
});
