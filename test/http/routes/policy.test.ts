// The policy's two routes over both servers: who may read and set which, the faults of a document,
// and that the next verdict is made by what was set.
import { afterEach, describe, expect, it } from "vitest";
import { TenantPolicies } from "../../../src/bureau/policies.ts";
import { PolicyBook } from "../../../src/policy/policy-book.ts";
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import { call, problemIn } from "../_client.ts";
import { ADAPTERS, openTestServer, START_MS } from "../_setup.ts";
import { closeServices, NOW_MS, openService, outcome } from "../_signing.ts";

const DOCUMENT = { levels: { L3: { allow_up_to: 0.01, minimum_score: 700 } } };

afterEach(closeServices);

function vouchedUntil(untilMs: number) {
  return { namespace: "agent://acme/*", until: new Date(untilMs).toISOString() };
}

async function openPolicies(adapter: (typeof ADAPTERS)[number]) {
  const journal: Uint8Array[] = [];
  const policies = new TenantPolicies({
    log: { appendPolicy: async (payload) => journal.push(payload) },
    book: new PolicyBook(),
    onPolicy: () => undefined,
    clock: () => START_MS,
  });
  const service = await openTestServer(adapter, { policies });
  return { service, journal };
}

describe.each(ADAPTERS)("policy over %s", (adapter) => {
  it("shows the shipped policy, takes another, and shows that", async () => {
    const { service, journal } = await openPolicies(adapter);
    const { admin } = service;
    const reader = await service.makeKey(["score:read"]);
    const shipped = await call(service, "/v1/policy", { key: reader });
    expect([shipped.status, shipped.json]).toEqual([
      200,
      {
        tenant: "acme",
        version: new PolicyBook().findActivePolicy("acme").version,
        policy: DEFAULT_POLICY,
        stakes_in_force: expect.objectContaining({ unit: 1, is_set: false }),
        minimum_scores_in_force: {
          L0: { internal_score: 403, enforced: false },
          L1: { internal_score: 480, enforced: false },
          L2: { internal_score: 507, enforced: false },
          L3: { internal_score: 550, enforced: false },
        },
        limits_in_force: {
          unsettled_stakes: "enforce",
          L0: {},
          L1: {},
          L2: expect.objectContaining({ new_actions_per_hour: { max: 80, mode: "log" } }),
          L3: expect.objectContaining({ new_actions_per_hour: { max: 40, mode: "enforce" } }),
        },
        set_by: null,
        set_at: null,
      },
    ]);
    const path = "/v1/policy?tenant=acme";
    const set = await call(service, path, { key: admin, method: "PUT", body: DOCUMENT });
    expect(set.status).toBe(200);
    expect(set.json).toMatchObject({
      tenant: "acme",
      policy: { levels: { ...DEFAULT_POLICY.levels, L3: DOCUMENT.levels.L3 } },
      minimum_scores_in_force: { L3: { internal_score: 700, enforced: true } },
      set_at: "2026-03-01T12:00:00.000Z",
    });
    expect(set.json.version).not.toBe(shipped.json.version);
    expect((await call(service, "/v1/policy", { key: reader })).json).toEqual(set.json);
    expect(new PolicyBook(journal).findActivePolicy("acme").version).toBe(set.json.version);
    const other = await call(service, "/v1/policy?tenant=other", { key: admin });
    expect(other.json).toEqual({ ...shipped.json, tenant: "other" });
    await service.stop();
  });

  it("checks a document without setting it, and keeps the reason of one that is set", async () => {
    const { service, journal } = await openPolicies(adapter);
    const put = (query: string, body: unknown) =>
      call(service, `/v1/policy?${query}`, { key: service.admin, method: "PUT", body });
    const checked = await put("tenant=acme&dry_run=1", DOCUMENT);
    expect(checked.status).toBe(200);
    expect(checked.json).toMatchObject({ tenant: "acme", set_by: null, set_at: null });
    expect(journal).toEqual([]);
    const wrong = problemIn(await put("dry_run=1", { levels: { L3: { allow_up_to: 2 } } }));
    expect(wrong.errors?.[0]).toMatchObject({ pointer: "/levels/L3/allow_up_to", code: "range" });
    const late = problemIn(await put("dry_run=1", { vouched: [vouchedUntil(START_MS - 1)] }));
    expect(late.errors?.[0]?.pointer).toBe("/vouched/0/until");
    for (const query of ["dry_run=yes", "reason=", "reason=%00", `reason=${"x".repeat(501)}`]) {
      expect(problemIn(await put(query, DOCUMENT)).code).toBe("invalid_parameter");
    }
    expect(journal).toEqual([]);
    const set = await put("tenant=acme&reason=after+the+review", DOCUMENT);
    expect(set.json.version).toBe(checked.json.version);
    const event = JSON.parse(Buffer.from(journal[0] as Uint8Array).toString());
    expect(event).toMatchObject({ event: "policy.set", reason: "after the review" });
    expect(event).not.toHaveProperty("via");
    await service.stop();
  });

  it("lets only an administrator set one, or name another tenant", async () => {
    const { service, journal } = await openPolicies(adapter);
    const key = await service.makeKey(["score:read"]);
    const refused = await call(service, "/v1/policy", { key, method: "PUT", body: DOCUMENT });
    expect(problemIn(refused).code).toBe("insufficient_scope");
    const named = await call(service, "/v1/policy?tenant=other", { key });
    expect(problemIn(named).code).toBe("insufficient_scope");
    expect((await call(service, "/v1/policy?tenant=acme", { key })).status).toBe(200);
    const writer = await service.makeKey(["outcomes:write"]);
    expect((await call(service, "/v1/policy", { key: writer })).status).toBe(403);
    const wrong = await call(service, "/v1/policy?tenant=%0A", { key: service.admin });
    expect(problemIn(wrong).code).toBe("invalid_parameter");
    expect(journal).toEqual([]);
    await service.stop();
  });

  it("refuses a document at each member that is wrong, and sets nothing", async () => {
    const { service, journal } = await openPolicies(adapter);
    const put = (body: unknown) =>
      call(service, "/v1/policy", { key: service.admin, method: "PUT", body });
    const unknown = problemIn(await put({ levels: { L2: { thin: "deny", allow: 1 }, L9: {} } }));
    expect(unknown.errors?.map(({ pointer }) => pointer)).toEqual([
      "/levels/L9",
      "/levels/L2/allow",
      "/levels/L2/thin",
    ]);
    const stakes = { review_cost: 0, unit: -1, levels: { L1: {}, L2: { assumed: "7" } } };
    const amounts = problemIn(await put({ stakes }));
    expect(amounts.errors?.map(({ pointer }) => pointer).toSorted()).toEqual([
      "/stakes/levels/L1",
      "/stakes/levels/L2/assumed",
      "/stakes/review_cost",
      "/stakes/unit",
    ]);
    const costly = problemIn(await put({ stakes: { review_cost: 5, verification_cost: 6 } }));
    expect(costly.errors).toMatchObject([{ pointer: "/stakes/verification_cost", code: "range" }]);
    const inverted = problemIn(await put({ levels: { L3: { allow_up_to: 0.9 } } }));
    expect(inverted.errors).toMatchObject([{ pointer: "/levels/L3/allow_up_to" }]);
    expect(journal).toEqual([]);
    await service.stop();
  });

  it("lets no cache keep what was let through by lot, a gateway's neither", async () => {
    const service = await openService({ adapter });
    const tenant = "acme";
    const made = await service.call("POST", "/v1/keys", { tenant, scopes: ["score:read"] });
    const { key } = made.json;
    const rules = { levels: { L2: { audit_one_in: 2 } } };
    expect((await service.call("PUT", "/v1/policy?tenant=acme", rules)).status).toBe(200);
    const seen = new Set<string>();
    for (let n = 0; n < 40; n += 1) {
      const request = { agent_id: `agent://new/${n}`, action: "a.b", tool_level: "L2" };
      const { headers, json } = await service.call("POST", "/v1/trust/verify", request, key);
      const lifeMs = Date.parse(json.expires_at) - Date.parse(json.evaluated_at);
      seen.add([json.policy_action.log_reason, headers.get("cache-control"), lifeMs].join());
      const route = `/v1/gateway/authorize?profile=caddy&tool_level=L2&agent_id=agent://gate/${n}`;
      const gate = await fetch(service.base + route, {
        headers: { authorization: `Bearer ${key}` },
      });
      const names = ["x-trust-effective", "x-trust-reason", "cache-control"];
      seen.add(names.map((name) => gate.headers.get(name)).join());
    }
    expect([...seen].toSorted()).toEqual([
      "AUDIT_SAMPLE,private, max-age=0,0",
      "THIN_FILE,private, max-age=300,300000",
      "allow,AUDIT_SAMPLE,private, max-age=0",
      "deny,THIN_FILE,no-store",
    ]);
  });

  it("vouches for a namespace until a time, at once and in what follows", async () => {
    const service = await openService({ adapter });
    const { json: made } = await service.call("POST", "/v1/keys", {
      tenant: "acme",
      scopes: ["score:read"],
    });
    const put = (body: unknown) => service.call("PUT", "/v1/policy?tenant=acme", body);
    const verify = async (level = "L2") => {
      const request = { agent_id: "agent://mine/new", action: "a.b", tool_level: level };
      const { json } = await service.call("POST", "/v1/trust/verify", request, made.key);
      return [json.policy_action.verdict, json.policy_action.log_reason, json.reason_codes[0]];
    };
    expect(await verify()).toEqual(["CHALLENGE", "THIN_FILE", "THIN_FILE"]);
    const untilMs = NOW_MS + 60_000;
    const word = { namespace: "agent://mine/*", until: new Date(untilMs).toISOString() };
    const set = await put({ vouched: [word] });
    expect([set.status, set.json.policy.vouched]).toEqual([
      200,
      [{ ...word, up_to: "L2", max_stakes: 0 }],
    ]);
    expect(await verify()).toEqual(["ALLOW", "VOUCHED", "VOUCHED"]);
    expect(await verify("L3")).toEqual(["CHALLENGE", "THIN_FILE", "THIN_FILE"]);
    service.clock.nowMs = untilMs - 1;
    expect(await verify()).toEqual(["ALLOW", "VOUCHED", "VOUCHED"]);
    service.clock.nowMs = untilMs;
    expect(await verify()).toEqual(["CHALLENGE", "THIN_FILE", "THIN_FILE"]);
    const late = await put({ vouched: [word] });
    expect([late.status, late.json.errors]).toEqual([
      400,
      [{ pointer: "/vouched/0/until", code: "range", detail: "has passed" }],
    ]);
    const wrong = await put({ vouched: [{ namespace: "agent://mine", until: "soon", for: "L3" }] });
    expect(wrong.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "/vouched/0/for",
      "/vouched/0/namespace",
      "/vouched/0/until",
    ]);
    expect((await service.call("GET", "/v1/policy?tenant=acme")).json).toEqual(set.json);
  });

  it("vouches against no failure on file, and is not undone by a stranger's word", async () => {
    const service = await openService({ adapter });
    const { json: made } = await service.call("POST", "/v1/keys", {
      tenant: "other",
      scopes: ["outcomes:write"],
    });
    const until = new Date(NOW_MS + 60_000).toISOString();
    await service.call("PUT", "/v1/policy", { vouched: [{ namespace: "agent://mine/*", until }] });
    const verify = async (name: string) => {
      const request = { agent_id: `agent://mine/${name}`, action: "a.b", tool_level: "L2" };
      const { json } = await service.call("POST", "/v1/trust/verify", request);
      return json.policy_action.log_reason;
    };
    const report = (name: string, result: 0 | 1, key?: string) =>
      service.call(
        "POST",
        "/v1/outcomes",
        JSON.parse(outcome({ subject: `agent://mine/${name}`, outcome: result })),
        key,
      );
    for (let n = 0; n < 4; n += 1) await report("slandered", 0, made.key);
    expect(await verify("slandered")).toBe("VOUCHED");
    await report("failed", 0);
    expect(await verify("failed")).toBe("THIN_FILE");
    for (let n = 0; n < 3; n += 1) await report("failed", 1);
    expect(await verify("failed")).toBe("THIN_FILE");
    for (let n = 0; n < 4; n += 1) {
      await report("good", 1);
      expect(await verify("good")).toBe("VOUCHED");
    }
  });

  it("is not there in a service without policies", async () => {
    const service = await openTestServer(adapter);
    const answer = await call(service, "/v1/policy", { key: service.admin });
    expect(problemIn(answer).code).toBe("not_found");
    await service.stop();
  });
});
