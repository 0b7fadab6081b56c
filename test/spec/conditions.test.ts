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
import { stretched } from "../_patience.ts";

const KEY = "condition-suite-admin-key-0123456789abcdefghij";
const AGENT = "agent://acme/ledger-sync";
const DAY_MS = 86_400_000;
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

/** A record that L2 allows: forty witnesses over two months, all content. */
async function importHistory(url: string): Promise<void> {
  const lines = Array.from({ length: 40 }, (_, i) =>
    JSON.stringify({
      subject: AGENT,
      reporter: `agent://spec/witness-${i}`,
      outcome: 1,
      stakes: 40,
      grade: "escrow",
      settled_at: Date.now() - (40 - i) * 1.5 * DAY_MS,
    }),
  );
  const reply = await fetch(`${url}/v1/outcomes/import?source=conditions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/x-ndjson" },
    body: lines.join("\n"),
  });
  expect(await reply.json()).toMatchObject({ accepted: 40 });
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
        const parsed = isJson && received !== "" ? JSON.parse(received) : received;
        resolve({ status: response.statusCode!, headers: response.headers, body: parsed as Body });
      });
    });
    request.on("error", reject);
    request.end(text);
  });
}

const onAllThreads = <Value>(ask: () => Promise<Value>) =>
  Promise.all(Array.from({ length: CONNECTIONS }, ask));

const VERIFY = { agent_id: AGENT, action: "order.place", tool_level: "L2", context: {} };
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
    await importHistory(url);
  }, stretched(60_000));

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

  it("a condition of a namespace covers its agents; the bureau's holds for every tenant", async () => {
    const made = await send<{ key: string }>(url, "POST", "/v1/keys", {
      tenant: "other",
      scopes: ["score:read"],
    });
    const { key } = made.body;
    const route = "/v1/namespaces/acme/condition";
    await send(url, "PUT", route, { ...FRAUD, scope: "tenant" });
    expect(wordsOfVerify(await verify(url))).toEqual(["BLOCK", "SUSPENDED"]);
    expect(wordsOfVerify(await verify(url, {}, key))).toEqual(["ALLOW", "TRUST_SUFFICIENT"]);
    await send(url, "DELETE", route);
    await send(url, "PUT", route, { ...FRAUD, scope: "bureau" });
    for (const each of await onAllThreads(() => verify(url, {}, key))) {
      expect(wordsOfVerify(each)).toEqual(["BLOCK", "SUSPENDED"]);
      expect(each.body.reason_codes.slice(0, 2)).toEqual(["SUSPENDED", "FRAUD_FLAG"]);
    }
    const seen = await send<{ conditions: AgentCondition[] }>(
      url,
      "GET",
      "/v1/conditions",
      undefined,
      key,
    );
    expect(seen.body.conditions).toMatchObject([
      {
        subject: "agent://acme/*",
        tenant: null,
        reason: { code: "fraud", text: null },
        set_by: null,
      },
    ]);
    expect((await send(url, "DELETE", `${route}?scope=bureau`, undefined, key)).status).toBe(403);
    expect((await send(url, "DELETE", `${route}?scope=bureau`)).status).toBe(200);
    await expectAllowed();
  });

  it("a stop holds every agent above its level, over every transport, until it is lifted", async () => {
    const stop = { above: "L1", reason: { code: "incident" } };
    expect((await send(url, "PUT", "/v1/stop", stop)).body).toMatchObject({ above: "L1" });
    for (const level of ["L2", "L3"]) {
      for (const each of await onAllThreads(() => verify(url, { tool_level: level })))
        expect(wordsOfVerify(each)).toEqual(["BLOCK", "STOPPED"]);
    }
    const below = await verify(url, { tool_level: "L1" });
    expect(below.body.policy_action.verdict).toBe("ALLOW");
    expect(wordsOfCheck(await check(url))).toEqual(["refuse", ["STOPPED"]]);
    const parties = { initiator: AGENT, counterparty: "agent://acme/unknown", stakes: 1 };
    const handshake = await send<{ decision: string }>(url, "POST", "/v1/handshake", parties);
    expect(handshake.body.decision).toBe("refuse");
    expect(await answerOfGateways(url)).toEqual([403, "STOPPED", false]);
    expect((await send(url, "DELETE", "/v1/stop")).status).toBe(200);
    expect(await answerOfGateways(url)).toEqual([200, "TRUST_SUFFICIENT", true]);
    await expectAllowed();
  });

  it("a suspension holds over gateways and AuthZEN, a clearance needs its own scope and an end", async () => {
    await send(url, "PUT", conditionRoute(AGENT), FRAUD);
    expect(await answerOfGateways(url)).toEqual([403, "SUSPENDED", false]);
    await send(url, "DELETE", conditionRoute(AGENT));
    const made = await send<{ key: string }>(url, "POST", "/v1/keys", {
      tenant: "operator",
      scopes: ["score:read", "conditions:restrict"],
    });
    const newcomer = conditionRoute("agent://acme/newcomer");
    const cleared = { state: "cleared", reason: { code: "known" }, max_stakes: 500 };
    const until = new Date(Date.now() + DAY_MS).toISOString();
    const refused = await send<{ errors: unknown[] }>(url, "PUT", newcomer, cleared);
    expect([refused.status, refused.body.errors]).toMatchObject([
      400,
      [{ pointer: "/until", code: "required" }],
    ]);
    const limited = await send(url, "PUT", newcomer, { ...cleared, until }, made.body.key);
    expect(limited.status).toBe(403);
    expect((await send(url, "PUT", newcomer, FRAUD, made.body.key)).status).toBe(200);
    expect((await send(url, "PUT", newcomer, { ...cleared, until })).status).toBe(200);
    const asked = { agent_id: "agent://acme/newcomer", stakes: 100 };
    const verified = await verify(url, asked);
    expect(wordsOfVerify(verified)).toEqual(["ALLOW", "CLEARED"]);
    expect(verified.body.max_stakes).toBe(500);
    expect(wordsOfVerify(await verify(url, { ...asked, stakes: 501 }))[0]).toBe("CHALLENGE");
    const connected = await send<CheckResponse>(url, "POST", "/v1/check", {
      subject: "agent://acme/newcomer",
      stakes: 100,
    });
    // SPEC 2.5: a leg that connects has no reasons.
    expect([wordsOfCheck(connected), connected.body.max_stakes]).toEqual([["connect", []], 500]);
    await send(url, "DELETE", newcomer);
    expect(wordsOfVerify(await verify(url, asked))[0]).toBe("CHALLENGE");
  });

  it("CSV sets what JSON sets, and where a row is wrong nothing, with the row, the column and the line", async () => {
    const post = async (text: string) => {
      const response = await fetch(`${url}/v1/conditions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "text/csv; charset=utf-8" },
        body: text,
      });
      return [response.status, await response.json()];
    };
    const header = "agent,state,reason_code,reason_text,until,max_stakes,levels";
    const suspension = `${AGENT},suspended,fraud,"forged, again",,,"L2,L3"`;
    expect(await post(`${header}\n${suspension}\n${AGENT}/x,stopped,fraud,,,,\n`)).toMatchObject([
      400,
      {
        code: "invalid_request",
        errors: [{ pointer: "/1/state", detail: expect.stringMatching(/^line 3: /) }],
      },
    ]);
    await expectAllowed();
    expect(await post(`${header}\r\n${suspension}\r\n`)).toEqual([200, { set: 1 }]);
    expect(wordsOfVerify(await verify(url))).toEqual(["BLOCK", "SUSPENDED"]);
    const stands = await send<AgentCondition>(url, "GET", conditionRoute(AGENT));
    expect(stands.body).toMatchObject({
      levels: ["L2", "L3"],
      reason: { code: "fraud", text: "forged, again" },
    });
    await send(url, "DELETE", conditionRoute(AGENT));
    await expectAllowed();
  });

  it("a watch marks and denies nothing; a plain name has conditions like any other", async () => {
    const watch = { state: "watch", reason: { code: "case" }, case: "CASE-7" };
    await send(url, "PUT", conditionRoute(AGENT), watch);
    const verified = await verify(url);
    expect(wordsOfVerify(verified)).toEqual(["ALLOW", "WATCHED"]);
    expect(wordsOfCheck(await check(url))).toEqual(["connect", []]);
    await send(url, "DELETE", conditionRoute(AGENT));
    await expectAllowed();
    const plain = "billing robot 7";
    await send(url, "PUT", conditionRoute(plain), FRAUD);
    const blocked = await verify(url, { agent_id: plain, tool_level: "L0" });
    expect(wordsOfVerify(blocked)).toEqual(["BLOCK", "SUSPENDED"]);
    await send(url, "DELETE", conditionRoute(plain));
    expect(
      (await verify(url, { agent_id: plain, tool_level: "L0" })).body.policy_action.verdict,
    ).toBe("ALLOW");
  });
});

/** Status, reason and decision of a gateway's question and of AuthZEN about the agent at L2. */
async function answerOfGateways(url: string): Promise<unknown[]> {
  const gateway = "/v1/gateway/authorize?profile=nginx&tool_level=L2&action=order.place";
  const { status, headers } = await send(url, "GET", gateway);
  const authzen = await send<{ decision: boolean }>(url, "POST", "/access/v1/evaluation", {
    subject: { type: "agent", id: AGENT },
    action: { name: "order.place" },
    resource: { type: "tool", id: "order", properties: { tool_level: "L2" } },
  });
  return [status, headers["x-trust-reason"], authzen.body.decision];
}
