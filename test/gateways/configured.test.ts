// Traefik, Kong and APISIX, which no package here brings: the exact question that each example asks,
// put to the real service, and what each makes of an answer or of none. Kong's own part is Lua in its configuration, and that runs, under every conformance fault.
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { FaultProxy } from "../../src/client/conformance/fault-proxy.ts";
import { conformanceTable, runConformance } from "../../src/client/conformance/suite.ts";
import { type Service, startTestService } from "../client/_service.ts";
import { TIMES } from "./_edge.ts";
import {
  type ApisixConfig,
  type Ask,
  type Sent,
  throughApisix,
  throughTraefik,
  type TraefikConfig,
} from "./_forward-auth.ts";
import { Kong, type KongConfig, type KongRequest, type Question } from "./_kong.ts";
import { needs } from "../_needs.ts";

let service: Service;
let proxy: FaultProxy;
const sent: Sent[] = [];
beforeAll(async () => {
  service = await startTestService();
  proxy = await FaultProxy.open(service.baseUrl);
});
beforeEach(async () => {
  sent.length = 0;
  await proxy.set({ kind: "none" });
});
afterAll(async () => {
  await proxy.close();
  await service.stop();
});

/** An example as an operator would fill it in, but for the addresses: `atService` moves those. */
async function exampleOf(name: string): Promise<unknown> {
  const text = await readFile(new URL(`../../examples/gateways/${name}`, import.meta.url), "utf8");
  const filled = text.replaceAll("YOUR_TRUSTRANK_KEY", service.apiKey);
  return parse(filled.replaceAll("agent://acme/", "agent://test/"));
}

/** Puts a question to the service, through the fault proxy, within the time limit of these tests. */
const atService: Ask = (question) => {
  sent.push(question);
  const { method, headers } = question;
  const url = question.url.replace("http://127.0.0.1:8080", proxy.baseUrl);
  return fetch(url, { method, headers, signal: AbortSignal.timeout(TIMES.budgetMs) });
};

/** A request of a client that claims whatever it likes. */
const FORGED = {
  "x-trust-agent-id": "agent://test/forged",
  "x-trust-verdict": "ALLOW",
  "x-trust-score": "100",
  "x-trust-degraded": "no",
  "x-trust-flagged": "no",
};
const REQUEST = { method: "POST", path: "/pay?tool_level=L0", headers: FORGED };

const trustHeaders = (headers: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("x-trust-")));

/** What a forward-auth of `profile` sends for `REQUEST` of an agent that is trusted. */
const forwardAuth = (profile: string) => ({
  method: "GET",
  url: `http://127.0.0.1:8080/v1/gateway/authorize?profile=${profile}&tool_level=L3`,
  headers: {
    authorization: `Bearer ${service.apiKey}`,
    "x-trust-agent-id": "agent://test/connect",
    "x-forwarded-for": "192.0.2.7",
    "x-forwarded-host": "app.example",
    "x-forwarded-method": "POST",
    "x-forwarded-proto": "http",
    "x-forwarded-uri": "/pay?tool_level=L0",
  },
});

describe("traefik.yaml", () => {
  let config: TraefikConfig;
  beforeAll(async () => {
    config = (await exampleOf("traefik.yaml")) as TraefikConfig;
  });

  const through = (router: string, agent: string) =>
    throughTraefik(config, router, REQUEST, (question) => {
      if (!question.url.endsWith("/who-calls")) return atService(question);
      return Promise.resolve(new Response("", { headers: { "X-Trust-Agent-Id": agent } }));
    });

  it("asks by GET, with the key and the proved agent alone", async () => {
    const outcome = await through("everything-else", "agent://test/connect");
    expect(sent).toEqual([forwardAuth("traefik")]);
    expect(outcome.app).toMatchObject({
      "x-trust-agent-id": "agent://test/connect",
      "x-trust-verdict": "ALLOW",
      "x-trust-request-id": expect.any(String),
    });
    expect(outcome.app).not.toHaveProperty("authorization");
    expect(outcome.app).not.toHaveProperty("x-trust-degraded");
    expect(outcome.app?.["x-trust-score"]).not.toBe("100");
  });

  it("is closed at both levels that it asks for, and does not ask for the others", async () => {
    expect(await through("edit", "agent://test/refuse")).toMatchObject({
      status: 403,
      headers: { "x-trust-verdict": "BLOCK", "x-trust-reason": "REFUSE_RULE" },
    });
    await proxy.set({ kind: "refused" });
    for (const router of ["edit", "everything-else"]) {
      expect(await through(router, "agent://test/connect")).toEqual({ status: 500, headers: {} });
    }
    const open = await through("open", "agent://test/refuse");
    expect(trustHeaders(open.app)).toEqual({ "x-trust-agent-id": "agent://test/refuse" });
    expect(sent.map(({ url }) => url.slice(-2))).toEqual(["L2", "L2", "L3"]);
  });
});

describe("apisix.yaml", () => {
  let config: ApisixConfig;
  beforeAll(async () => {
    config = (await exampleOf("apisix.yaml")) as ApisixConfig;
  });
  const through = (route: string, consumer: string) =>
    throughApisix(config, route, { ...REQUEST, consumer }, atService);

  it("asks by GET, with the key and the consumer's agent alone", async () => {
    const outcome = await through("everything-else", "connect");
    expect(sent).toEqual([forwardAuth("apisix")]);
    expect(trustHeaders(outcome.app)).toEqual({
      "x-trust-agent-id": "agent://test/connect",
      "x-trust-verdict": "ALLOW",
      "x-trust-reason": "TRUST_SUFFICIENT",
      "x-trust-request-id": expect.any(String),
    });
  });

  it("marks what it let through unchecked for the application, and only that", async () => {
    const checked = await through("info", "refuse");
    expect(checked.app).not.toHaveProperty("x-trust-degraded");
    expect(checked.app).toMatchObject({ "x-trust-flagged": "true" });
    expect(await through("everything-else", "refuse")).toMatchObject({
      status: 403,
      headers: { "x-trust-verdict": "BLOCK", "x-trust-reason": "REFUSE_RULE" },
    });
    await proxy.set({ kind: "refused" });
    const open = await through("info", "refuse");
    expect(trustHeaders(open.app)).toEqual({
      "x-trust-agent-id": "agent://test/refuse",
      "x-trust-degraded": "L1_open",
    });
    expect(await through("everything-else", "connect")).toEqual({ status: 503, headers: {} });
  });

  it("hands a fault that TrustRank answers with to the client, open level or not", async () => {
    await proxy.set({ kind: "status", status: 500 });
    for (const route of ["info", "everything-else"]) {
      expect((await through(route, "connect")).status).toBe(500);
    }
  });
});

// Skipped without the Debian package `luajit`, which runs Lua as Kong does.
describe("kong.yaml, run by luajit", needs("luajit"), () => {
  let kong: Kong;
  let asked: Question[];
  beforeAll(async () => {
    const config = (await exampleOf("kong.yaml")) as KongConfig;
    const plugin = config.services[0]!.plugins.find(({ name }) => name === "post-function")!;
    kong = await Kong.open(plugin.config.access[0]!, plugin.config.header_filter[0]!);
  });
  beforeEach(() => {
    asked = [];
  });
  afterAll(() => kong?.stop());

  const send = (request: KongRequest) =>
    kong.send(request, (question) => {
      asked.push(question);
      return atService(question);
    });

  it("asks by GET, with the key and the consumer's agent alone", async () => {
    const agent = "agent://test/connect";
    const outcome = await send({ method: "POST", agent, headers: FORGED });
    expect(asked).toEqual([
      {
        timeouts: "100,100,100",
        method: "GET",
        url: "http://127.0.0.1:8080/v1/gateway/authorize?profile=kong&tool_level=L3",
        headers: {
          Authorization: `Bearer ${service.apiKey}`,
          "X-Trust-Agent-Id": agent,
          "X-Forwarded-Method": "POST",
        },
      },
    ]);
    const { "x-trust-score": score, ...told } = trustHeaders(outcome.appHeaders);
    expect(score).not.toBe("100");
    expect(told).toMatchObject({ "x-trust-agent-id": agent, "x-trust-verdict": "ALLOW" });
    expect(told).not.toHaveProperty("x-trust-degraded");
    expect(outcome.headers).toEqual({});
  });

  it("closes at every level for a consumer whose name is no agent's", async () => {
    for (const tag of ["trust-L0", "trust-L1", "trust-L2", "trust-L3"]) {
      const outcome = await send({ tag, agent: "agent://acme/../evil" });
      expect(outcome).toMatchObject({ status: 403, hasReachedApp: false });
    }
  });

  it("denies with the reason, and stops whom it does not know without a question", async () => {
    expect(await send({ tag: "trust-L2", agent: "agent://test/refuse" })).toMatchObject({
      status: 403,
      hasReachedApp: false,
      headers: { "X-Trust-Verdict": "BLOCK", "X-Trust-Reason": "REFUSE_RULE" },
    });
    expect(await send({ tag: "trust-L1", agent: "agent://test/refuse" })).toMatchObject({
      status: 200,
      headers: { "X-Trust-Flagged": "true" },
      appHeaders: { "x-trust-flagged": "true" },
    });
    asked.length = 0;
    const stranger = await send({ tag: "trust-L0", headers: FORGED });
    expect([stranger.status, asked]).toEqual([401, []]);
  });

  it("holds the fail policy under every conformance fault", async () => {
    const rows = await runConformance(
      {
        setFault: (fault) => proxy.set(fault),
        async request(toolLevel) {
          const agent = "agent://test/connect";
          const outcome = await send({ tag: `trust-${toolLevel}`, agent, headers: FORGED });
          const degraded = outcome.headers["X-Trust-Degraded"] ?? null;
          if (outcome.hasReachedApp) {
            expect(outcome.appHeaders["x-trust-degraded"] ?? null).toBe(degraded);
          }
          expect(outcome.logged === "").toBe(degraded === null);
          return {
            status: outcome.status,
            retryAfter: outcome.headers["Retry-After"] ?? null,
            degraded,
            reachedTool: outcome.hasReachedApp,
          };
        },
      },
      TIMES,
    );
    const failing = rows.filter(({ faults }) => faults.length > 0);
    expect(conformanceTable(failing)).toBe("");
    expect(rows).toHaveLength(60);
  });
});
