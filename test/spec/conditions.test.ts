// Promises to operators who command: a suspension, a watch, a clearance and a stop hold on every HTTP thread and over
// every transport before they are answered, end when they are lifted, and outlive kill -9. Real processes.
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentCondition } from "../../src/contract/schemas/conditions.ts";
import type { CheckResponse, VerifyResponse } from "../../src/contract/schemas/scores.ts";
import { endAll, startCommand } from "../cli/_process.ts";

const KEY = "condition-suite-admin-key-0123456789abcdefghij";
/** Of the sample: it connects and is allowed at L3. */
const AGENT = "agent://stark/forecast";
const HTTP_THREADS = 4;
/** The kernel deals connections out: with so many every thread has one. */
const CONNECTIONS = 32;
const FRAUD = { state: "suspended", reason: { code: "fraud", text: "invoices were forged" } };
const folder = mkdtempSync(path.join(tmpdir(), "trustrank-conditions-"));

async function start(name: string) {
  const at = ["--data-dir", path.join(folder, name), "--http-threads", String(HTTP_THREADS)];
  const started = startCommand(["serve", "--port", "0", "--json", ...at], {
    TRUSTRANK_ADMIN_KEY: KEY,
  });
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { started, url };
}

interface Answer<Body> {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Body;
}

/** On a connection of its own. */
function send<Body>(url: string, method: string, route: string, body?: unknown, key = KEY) {
  return new Promise<Answer<Body>>((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    if (text !== undefined) headers["content-type"] = "application/json";
    if (route.startsWith("/v1/gateway")) headers["x-trust-agent-id"] = AGENT;
    const request = http.request(url + route, { method, headers, agent: false }, (response) => {
      let received = "";
      response.on("data", (piece) => (received += piece));
      response.on("end", () => {
        const isJson = /json/.test(response.headers["content-type"] ?? "");
        const parsed = isJson ? JSON.parse(received) : received;
        resolve({ status: response.statusCode!, headers: response.headers, body: parsed as Body });
      });
    });
    request.on("error", reject);
    request.end(text);
  });
}

const onAllThreads = <Value>(ask: () => Promise<Value>) =>
  Promise.all(Array.from({ length: CONNECTIONS }, ask));

const VERIFY = { agent_id: AGENT, action: "order.place", tool_level: "L3", context: {} };
const verify = (url: string, request: object = {}, key = KEY) =>
  send<VerifyResponse>(url, "POST", "/v1/trust/verify", { ...VERIFY, ...request }, key);
const check = (url: string, key = KEY) =>
  send<CheckResponse>(url, "POST", "/v1/check", { subject: AGENT, stakes: 5 }, key);

/** Words of an answer that say what was decided and why. */
const wordsOfVerify = ({ body }: Answer<VerifyResponse>) => [
  body.policy_action.verdict,
  body.policy_action.log_reason,
];
const wordsOfCheck = ({ body }: Answer<CheckResponse>) => [body.decision, body.reason_codes];
const conditionRoute = (agent: string) => `/v1/agents/${encodeURIComponent(agent)}/condition`;

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

describe("one service with four HTTP threads", () => {
  let url: string;
  beforeAll(async () => {
    ({ url } = await start("threads"));
  }, 60_000);

  const expectAllowed = async () => {
    expect(wordsOfVerify(await verify(url))).toEqual(["ALLOW", "TRUST_SUFFICIENT"]);
    expect(wordsOfCheck(await check(url))).toEqual(["connect", []]);
  };

  it("a suspension blocks and refuses on every thread before it is answered; DELETE undoes it", async () => {
    await expectAllowed();
    const set = await send<AgentCondition>(url, "PUT", conditionRoute(AGENT), FRAUD);
    expect([set.status, set.body.state, set.body.reason]).toEqual([
      200,
      "suspended",
      { code: "fraud", text: "invoices were forged" },
    ]);
    const verified = await onAllThreads(() => verify(url));
    for (const each of verified) {
      expect(wordsOfVerify(each)).toEqual(["BLOCK", "SUSPENDED"]);
      expect(each.body.reason_codes[0]).toBe("SUSPENDED");
      expect([each.body.enforced, each.body.max_stakes]).toEqual([true, 0]);
    }
    const checked = await onAllThreads(() => check(url));
    for (const each of checked) {
      expect(wordsOfCheck(each)).toEqual(["refuse", ["SUSPENDED"]]);
      expect([each.body.allowed, each.body.max_stakes]).toEqual([false, 0]);
      expect(each.body.reasons).toEqual(["An operator has suspended the agent (fraud)."]);
    }
    const lifted = await send(url, "DELETE", conditionRoute(AGENT));
    expect(lifted.status).toBe(200);
    for (const each of await onAllThreads(() => verify(url)))
      expect(wordsOfVerify(each)).toEqual(["ALLOW", "TRUST_SUFFICIENT"]);
    expect((await send(url, "DELETE", conditionRoute(AGENT))).status).toBe(404);
    await expectAllowed();
  });
});
