// The trust handshake after authentication (SPEC §4.9) over a real service: who comes in, what it
// costs, and that an outage is what the tool behind makes of it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import type { TrustGateError } from "../../../src/client/errors.ts";
import { TrustGateway, type TrustGatewayOptions } from "../../../src/client/gateway/gateway.ts";
import { protectRoute } from "../../../src/client/gateway/protect.ts";
import { trustGate } from "../../../src/client/gates/trust-gate.ts";
import { TOOL_LEVELS, type ToolLevel } from "../../../src/contract/vocabulary.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { rejection } from "../_replies.ts";
import { type Service, startTestService } from "../_service.ts";

const SELF = "agent://test/connect";
const agent = (name: string) => `agent://test/${name}`;

let service: Service;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());
let paths: string[];
beforeEach(() => {
  paths = [];
});

function open(more: Partial<TrustGatewayOptions> = {}, baseUrl = service.baseUrl) {
  const client = new TrustRankClient({
    baseUrl,
    apiKey: service.apiKey,
    agentId: SELF,
    timeoutMs: WAIT_MS_MAX,
    fetch: (url, init) => {
      paths.push(new URL(url).pathname);
      return fetch(url, init);
    },
  });
  return new TrustGateway({ client, onFlagged: () => undefined, follow: false, ...more });
}

const reached: string[] = [];
const route = (gateway: TrustGateway, toolLevel: ToolLevel) =>
  protectRoute(
    (request) => {
      reached.push(request.headers.get("x-agent") ?? "");
      return new Response("ran");
    },
    { gateway, toolLevel, action: "a.b", agentId: (from) => agent(from.headers.get("x-agent")!) },
  );
const from = (name: string) => new Request("http://app/", { headers: { "x-agent": name } });

describe("a protected route", () => {
  it("shakes hands first, once per agent, then asks for all levels at once", async () => {
    const gateway = open();
    for (const level of TOOL_LEVELS) {
      expect((await route(gateway, level)(from("connect"))).status).toBe(200);
    }
    expect(paths).toEqual(["/v1/handshake", "/v1/trust/verify"]);
    const silent = open({ handshake: false });
    for (const level of TOOL_LEVELS) await route(silent, level)(from("connect"));
    expect(paths.slice(2), "one paid read in all").toEqual(["/v1/trust/verify"]);
    paths.length = 0;
    gateway.forget(SELF);
    await route(gateway, "L1")(from("connect"));
    expect(paths).toEqual(["/v1/handshake", "/v1/trust/verify"]);
  });

  it("keeps to the table of tool levels where either side refuses", async () => {
    for (const level of TOOL_LEVELS) {
      reached.length = 0;
      paths.length = 0;
      const isOpen = level === "L0" || level === "L1";
      const refused = await route(open(), level)(from("refuse"));
      // Our own record is what the caller's side looks at.
      const own = open({ handshake: { agentId: agent("refuse") } });
      const refusedOwn = await route(own, level)(from("connect"));
      for (const response of [refused, refusedOwn]) {
        expect([level, response.status]).toEqual([level, isOpen ? 200 : 403]);
        expect(response.headers.get("x-trust-flagged")).toBe(isOpen ? "true" : null);
      }
      expect(reached).toEqual(isOpen ? ["refuse", "connect"] : []);
      if (isOpen) continue;
      expect(await refused.json()).toEqual({ error: "refuse", reason: "FAILURE_HISTORY" });
      expect(new Set(paths), "asks no further").toEqual(new Set(["/v1/handshake"]));
    }
  });

  it("opens no connection to whom either side refuses, where no tool is named yet", async () => {
    const own = open({ handshake: { agentId: agent("refuse") } });
    for (const asked of [open().admit({ agentId: agent("refuse") }), own.admit({ agentId: SELF })])
      expect(await asked).toMatchObject({ allowed: false, status: 403, word: "refuse" });
  });

  it("passes what waits for a person below L2, marked, and not above", async () => {
    const statuses: unknown[] = [];
    for (const level of TOOL_LEVELS) {
      const answer = await open({ handshake: { stakes: 50 } }).admit({
        agentId: agent("escalate"),
        toolLevel: level,
      });
      statuses.push([level, answer.status, answer.flagged, answer.word]);
    }
    expect(statuses).toEqual([
      ["L0", 200, false, "escalate"],
      ["L1", 200, true, "escalate"],
      ["L2", 403, false, "escalate"],
      ["L3", 403, false, "escalate"],
    ]);
    const marked = await route(open(), "L1")(from("escalate"));
    expect([marked.status, marked.headers.get("x-trust-flagged")]).toEqual([200, "true"]);
  });

  it("does not shake hands without a name of its own, or when told not to", async () => {
    await route(open({ handshake: false }), "L3")(from("connect"));
    const nameless = new TrustGateway({
      client: new TrustRankClient({ ...service, timeoutMs: WAIT_MS_MAX }),
    });
    expect(nameless.shakesHands).toBe(false);
    expect(paths).toEqual(["/v1/trust/verify"]);
    // Asked to, it weighs the caller alone, as strictly.
    const refused = await nameless.admit({ agentId: agent("refuse") });
    expect([refused.status, refused.word]).toEqual([403, "refuse"]);
  });

  it("in shadow mode holds nobody back", async () => {
    const { shadowKey: apiKey, baseUrl } = service;
    const shadow = new TrustRankClient({
      baseUrl,
      apiKey,
      agentId: SELF,
      timeoutMs: WAIT_MS_MAX,
    });
    const answer = await new TrustGateway({ client: shadow }).admit({ agentId: agent("refuse") });
    expect(answer).toMatchObject({ allowed: true, flagged: true, word: "refuse" });
  });
});

describe("trustGate by a gateway", () => {
  const inner = (request: Request) => ({ principalId: agent(request.headers.get("x-agent")!) });

  it("shakes hands and verifies once, refuses with the reasons, and closes on every fault", async () => {
    const gated = trustGate(inner, { gateway: open() });
    expect(await gated(from("connect"))).toEqual({ principalId: SELF });
    await gated(from("connect"));
    expect(paths, "kept for five minutes").toEqual(["/v1/handshake", "/v1/trust/verify"]);
    const thrown = await rejection(gated(from("refuse")));
    const body = await (thrown as TrustGateError).response.json();
    expect(body).toMatchObject({ decision: "refuse", reasons: [expect.stringMatching(/\w/)] });
    const down = trustGate(inner, { gateway: open({}, "http://127.0.0.1:1") });
    const { response } = (await rejection(down(from("connect")))) as TrustGateError;
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  });
});
