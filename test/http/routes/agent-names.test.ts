// Names of agents on every route that writes or judges, over HTTP: what reads like an agent identifier
// and is none is 400 with a pointer or the parameter, and the routes are those of the route table. What
// was recorded under such a name earlier can still be read.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeAgentKey } from "../../../src/contract/identifiers.ts";
import { loadBureauKey } from "../../../src/journal/signing-key.ts";
import { NOW_MS, openCore, recordOf, runOf } from "../../ledger/_fixtures.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { ROUTES } from "../../../src/http/routes/table.ts";
import { isFormedAgent, isSoundName } from "../../reference/agent-names.ts";
import { closeServices, openService, type Reply, type SigningService } from "../_signing.ts";

const AGENT = "agent://shop/buyer";
const OTHER = "agent://market/seller";
const HASH = `sha256:${"ab".repeat(32)}`;

let service: SigningService;
beforeAll(async () => {
  service = await openService();
});
afterAll(closeServices);

type Send = (name: string) => Promise<Reply>;
interface Case {
  /** Of the route. */
  readonly route: string;
  /** Of the name in what the answer says is wrong; undefined for a name in the path. */
  readonly pointer: string | undefined;
  readonly send: Send;
  /** Takes agent identifiers alone. */
  readonly isStrict?: boolean;
}

const post = (path: string, body: unknown) => service.call("POST", path, body);
const OUTCOME = { subject: OTHER, reporter: AGENT, outcome: 1, stakes: 1, grade: "self" };
const VERIFY = { agent_id: AGENT, action: "a.b", tool_level: "L1" };
const at = (name: string, rest = "") => `/v1/agents/${encodeURIComponent(name)}${rest}`;
const lines = (name: string) =>
  service.post(
    "/v1/outcomes/batch",
    JSON.stringify({ ...OUTCOME, subject: name }),
    undefined,
    "application/x-ndjson",
  );

const SUSPENSION = { state: "suspended", reason: { code: "fraud" } };

const CASES: readonly Case[] = [
  {
    route: "verify",
    pointer: "/agent_id",
    send: (agent_id) => post("/v1/trust/verify", { ...VERIFY, agent_id }),
  },
  {
    route: "verify_batch",
    pointer: "/items/0/agent_id",
    send: (agent_id) => post("/v1/trust/verify/batch", { items: [{ ...VERIFY, agent_id }] }),
  },
  {
    route: "check",
    pointer: "/subject",
    send: (subject) => post("/v1/check", { subject, stakes: 1 }),
  },
  {
    route: "handshake",
    pointer: "/initiator",
    send: (initiator) => post("/v1/handshake", { initiator, counterparty: OTHER, stakes: 1 }),
  },
  {
    route: "handshake",
    pointer: "/counterparty",
    send: (counterparty) => post("/v1/handshake", { initiator: OTHER, counterparty, stakes: 1 }),
  },
  {
    route: "report_outcome",
    pointer: "/subject",
    send: (subject) => post("/v1/outcomes", { ...OUTCOME, subject }),
  },
  {
    route: "report_outcome",
    pointer: "/reporter",
    send: (reporter) => post("/v1/outcomes", { ...OUTCOME, reporter }),
    isStrict: true,
  },
  {
    route: "report_outcomes",
    pointer: "/subject",
    send: (subject) => post("/v1/outcomes/batch", [{ ...OUTCOME, subject }]),
  },
  { route: "report_outcomes", pointer: "/subject", send: lines },
  {
    route: "import_outcomes",
    pointer: "/subject",
    send: (subject) =>
      service.post(
        "/v1/outcomes/import?source=test",
        JSON.stringify({ ...OUTCOME, subject }),
        undefined,
        "application/x-ndjson",
      ),
  },
  {
    route: "record_provenance",
    pointer: "/agent_id",
    send: (agent_id) =>
      post("/v1/provenance", { agent_id, action: "a.b", content_hash: HASH, cited_sources: ["x"] }),
  },
  {
    route: "dispute",
    pointer: "/agent",
    send: (agent) => post("/v1/disputes", { agent, reason: "other", statement: "x" }),
  },
  {
    route: "share_agent_report",
    pointer: undefined,
    send: (name) => post(at(name, "/report/links"), {}),
  },
  {
    route: "register_reporter_key",
    pointer: undefined,
    isStrict: true,
    send: (name) => service.call("PUT", at(name, "/keys"), {}),
  },
  {
    route: "reporter_key_nonce",
    pointer: undefined,
    isStrict: true,
    send: (name) => post(at(name, "/keys/nonce"), {}),
  },
  {
    route: "revoke_reporter_key",
    pointer: undefined,
    isStrict: true,
    send: (name) => post(at(name, "/keys/revoke"), { kid: "x" }),
  },
  {
    route: "set_agent_condition",
    pointer: undefined,
    send: (name) => service.call("PUT", at(name, "/condition"), SUSPENSION),
  },
  {
    route: "lift_agent_condition",
    pointer: undefined,
    send: (name) => service.call("DELETE", at(name, "/condition")),
  },
  {
    route: "policy_set",
    pointer: "/vouched/0/namespace",
    isStrict: true,
    send: (name) =>
      service.call("PUT", "/v1/policy", {
        vouched: [{ namespace: `${name}/*`, until: "2030-01-01T00:00:00Z" }],
      }),
  },
  {
    route: "gateway_authorize",
    pointer: "/agent_id",
    send: (name) =>
      service.call(
        "GET",
        `/v1/gateway/authorize?profile=caddy&tool_level=L1&action=a.b&agent_id=${encodeURIComponent(name)}`,
      ),
  },
  {
    route: "authzen_evaluation",
    pointer: "/agent_id",
    send: (id) =>
      post("/access/v1/evaluation", {
        subject: { type: "agent", id },
        action: { name: "a.b" },
        resource: { type: "tool", id: "t" },
      }),
  },
  {
    route: "authzen_evaluations",
    pointer: "/agent_id",
    send: (id) =>
      post("/access/v1/evaluations", {
        evaluations: [
          {
            subject: { type: "agent", id },
            action: { name: "a.b" },
            resource: { type: "tool", id: "t" },
          },
        ],
      }),
  },
];

/** The problem of an answer: its own, or that of its one item. */
function problemOf({ status, json }: Reply): Record<string, unknown> {
  const [item] = json.items ?? json.evaluations ?? json.errors ?? [];
  const found = status === 400 ? json : (item?.error ?? item?.context?.error ?? item);
  return { status, ...found };
}

const scheme = fc.constantFrom(
  "AGENT://",
  "agent:/",
  "agent:",
  " agent://",
  "Ａgent://",
  "ａｇｅｎｔ：／／",
  "agent%3A%2F%2F",
  "%61gent://",
  "agent:///",
  "\u00a0agent://",
  "a\u200bgent://",
  "Agent:\\\\",
  "agent%3a//",
);
const rest = fc.constantFrom("a/b", "shop/buyer", "a/b/c");
const dotted = fc.constantFrom(
  "a/../b",
  "./b",
  "../b",
  "a/.",
  "a/..",
  "a//b",
  "a/b/",
  "/b",
  "a%2Fb/c",
  "a/b%2f..",
  "a/%2e%2e/b",
);
const nearMiss = fc.oneof(
  fc.tuple(scheme, rest).map(([begin, end]) => begin + end),
  dotted.map((end) => `agent://${end}`),
);

describe("a name that reads like an agent identifier and is none", () => {
  it.each(CASES)("is 400 by $route at $pointer", async ({ pointer, send, isStrict, route }) => {
    await fc.assert(
      fc.asyncProperty(nearMiss, async (name) => {
        expect(isSoundName(name)).toBe(false);
        const reply = await send(name);
        const problem = problemOf(reply);
        const text = JSON.stringify(reply.json);
        if (pointer === undefined) {
          expect([reply.status, problem["code"]]).toEqual([400, "invalid_parameter"]);
        } else {
          expect(text).toContain(`"${pointer}"`);
          expect(text).toMatch(/"(?:status|code)":(?:400|"invalid_request")/);
        }
        expect(text).toMatch(
          isStrict === true && route === "policy_set" ? /must be/ : /must be an agent identifier/,
        );
      }),
      { numRuns: 40 },
    );
  });

  it("says which identifier may be meant", async () => {
    const { json } = await post("/v1/check", { subject: " AGENT:/shop/buyer", stakes: 1 });
    expect(json.errors[0].detail).toContain("meant may be `agent://shop/buyer`");
  });
});

it("is asked of every route of the table that takes an agent", async () => {
  const { json } = await service.call("GET", "/openapi.json");
  const schemas = json.components.schemas as Record<string, unknown>;
  const namesAgent = (schema: unknown, seen = new Set<unknown>()): boolean => {
    if (typeof schema !== "object" || schema === null || seen.has(schema)) return false;
    seen.add(schema);
    return Object.entries(schema).some(([key, value]) => {
      if (key === "$ref") return namesAgent(schemas[String(value).split("/").at(-1)!], seen);
      if (key === "pattern") return /^\^\(?agent:\/\//.test(String(value));
      return namesAgent(value, seen);
    });
  };
  const taking = ROUTES.filter(({ method, path, body }) => {
    const isWritten = method !== "GET" && path.startsWith("/v1/agents/{id}");
    return isWritten || (body?.schema !== undefined && namesAgent(schemas[body.schema]));
  }).map(({ name }) => name);
  const asked = new Set(CASES.map(({ route }) => route));
  // A policy's back-test takes policies, which are parsed as those that are set.
  expect(taking.filter((name) => !asked.has(name))).toEqual(["policy_backtest", "policy_diff"]);
  expect(taking.length).toBeGreaterThan(10);
});

it("takes what verify was always asked about: identifiers, and plain names", async () => {
  const name = fc.oneof(
    fc.constantFrom("support-bot", "Agent 7", "agents://x/y", "a:b", "é", "x agent://a/b", AGENT),
    fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
      .filter((text) => !/\p{Cc}/u.test(text)),
  );
  await fc.assert(
    fc.asyncProperty(name, async (agent_id) => {
      const { status } = await post("/v1/trust/verify", { ...VERIFY, agent_id });
      expect(status).toBe(isSoundName(agent_id) ? 200 : 400);
      const { status: asReporter } = await post("/v1/outcomes", { ...OUTCOME, reporter: agent_id });
      expect(asReporter === 400).toBe(!isFormedAgent(agent_id));
    }),
    { numRuns: 60 },
  );
});

it("can still be read where something is recorded under it, and is refused elsewhere", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "trustrank-old-names-"));
  const old = ["agent://shop/../seller", "AGENT://shop/seller"];
  try {
    const { core } = openCore(join(dataDir, "journal"), loadBureauKey(join(dataDir, "bureau.key")));
    const records = old.map((name, index) => recordOf(index, { subject: encodeAgentKey(name) }));
    core.commit([runOf(records)], NOW_MS);
    core.close();
    const later = await openService({ dataDir, isStored: true });
    for (const name of old) {
      const { status, json } = await later.call("GET", at(name));
      expect([status, json.agent_id, json.known]).toEqual([200, name, true]);
      const about = `/v1/outcomes?subject=${encodeURIComponent(name)}`;
      const listed = async () => (await later.call("GET", about)).json.outcomes?.length;
      await expect.poll(listed, { timeout: WAIT_MS_MAX }).toBe(1);
      expect((await later.call("POST", "/v1/check", { subject: name, stakes: 1 })).status).toBe(
        400,
      );
    }
    const unknown = encodeURIComponent("AGENT://shop/nobody");
    for (const read of [`/v1/agents/${unknown}`, `/v1/outcomes?subject=${unknown}`]) {
      expect((await later.call("GET", read)).json.code).toBe("invalid_parameter");
    }
    await later.close();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

it("of a namespace is granted in one case alone, and never as a step in a path", async () => {
  const grant = (namespace: string, tenant: string) =>
    service.call("PUT", `/v1/namespaces/${namespace}`, { tenant });
  expect((await grant("Acme", "acme")).status).toBe(200);
  const twin = await grant("acme", "evil");
  expect([twin.status, twin.json.code]).toEqual([409, "namespace_conflict"]);
  expect((await grant("Acme", "acme")).status).toBe(200);
  for (const name of ["..%2Facme", "a%2Fb", "%252E%252E"]) {
    const { status, json } = await grant(name, "acme");
    expect([name, status, json.code]).toEqual([name, 400, "invalid_parameter"]);
  }
});
