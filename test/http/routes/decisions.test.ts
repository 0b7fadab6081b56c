// The decision log's routes over the transport: who sees what, what is refused and how.
import { afterEach, beforeEach, expect, it } from "vitest";
import type { ReplayableLeg } from "../../../src/contract/schemas/decisions.ts";
import { call } from "../_client.ts";
import { describeAdapters, openTestServer, type TestServer, START_MS } from "../_setup.ts";
import { RowStore } from "../_row-store.ts";

function legOf(requestId: string, more: Partial<ReplayableLeg> = {}): ReplayableLeg {
  return {
    request_id: requestId,
    kind: "verify",
    leg: "a_to_b",
    tenant: "acme",
    key_id: "key-1",
    subject: "agent://shop/seller",
    viewer: null,
    action: "order.place",
    session_duration_sec: 30,
    tool_level: "L3",
    stakes: 5,
    verdict: "QUARANTINE",
    decision: "escalate",
    leg_decision: "escalate",
    effective: "deny",
    disposition: "refuse",
    enforced: true,
    flagged: true,
    known: true,
    is_test: false,
    internal_score: 512,
    effective_score: 480.25,
    minimum_score: 575,
    failure_probability: 0.2,
    failure_optimistic: 0.1,
    failure_pessimistic: 0.3,
    tier: "D",
    regime: "shock",
    max_stakes: null,
    log_reason: "HIGH_RISK",
    hard_failure: null,
    reason_codes: ["RECENT_FAILURE"],
    config_version: "c-0123456789abcdef",
    stands_for: 1,
    weight: 1,
    trace_id: null,
    action_entry: null,
    node: null,
    policy_version: null,
    evaluated_at: new Date(START_MS).toISOString(),
    inputs: [1, 2, 3],
    ...more,
  };
}

const PROVENANCE = {
  agent_id: "agent://acme/writer",
  action: "report.write",
  content_hash: `sha256:${"ab".repeat(32)}`,
  cited_sources: ["doc:1"],
};

describeAdapters("decision log", (adapter) => {
  let service: TestServer;
  let store: RowStore;

  beforeEach(async () => {
    store = new RowStore();
    store.legs = [
      legOf("r-2", { flagged: false }),
      legOf("r-1"),
      legOf("r-1", { evaluated_at: new Date(START_MS - 1000).toISOString(), tier: "A" }),
      legOf("theirs", { tenant: "other" }),
    ];
    service = await openTestServer(adapter, { store });
  });
  afterEach(() => service.stop());

  it("lists the tenant's own decisions, an administrator's key all", async () => {
    const own = await call(service, "/v1/decisions");
    expect(own.status).toBe(200);
    const idsOf = (answer: { json: unknown }) =>
      (answer.json as { decisions: ReplayableLeg[] }).decisions.map((leg) => leg.request_id);
    expect(idsOf(own)).toEqual(["r-2", "r-1", "r-1"]);
    expect(JSON.stringify(own.json)).not.toContain("inputs");
    expect(idsOf(await call(service, "/v1/decisions", { key: service.admin }))).toContain("theirs");
    expect(idsOf(await call(service, "/v1/decisions?limit=1"))).toEqual(["r-2"]);
    expect(idsOf(await call(service, "/v1/decisions?agent=agent://a/b"))).toEqual([]);
    expect(idsOf(await call(service, `/v1/decisions?since=${START_MS}`))).toEqual(["r-2", "r-1"]);
  });

  it.each(["limit=0", "limit=1001", "limit=x", "since=yesterday"])(
    "refuses the query %s",
    async (query) => {
      const answer = await call(service, `/v1/decisions?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ code: "invalid_parameter" });
    },
  );

  it("reads the newest decision of an id, and none of another tenant", async () => {
    const found = await call(service, "/v1/decisions/r-1");
    expect(found.json).toMatchObject({
      request_id: "r-1",
      legs: [{ tier: "D", inputs: [1, 2, 3] }],
    });
    expect((found.json as { legs: unknown[] }).legs).toHaveLength(1);
    for (const path of ["/v1/decisions/theirs", "/v1/decisions/nothing"]) {
      const answer = await call(service, path);
      expect(answer.status).toBe(404);
      expect(answer.json).toMatchObject({ detail: "no decision has this request id" });
    }
  });

  it("replays under the active config or the one named", async () => {
    const active = await call(service, "/v1/decisions/r-1/replay", { body: { config: "active" } });
    expect(active.json).toMatchObject({ request_id: "r-1", identical: true, differences: [] });
    const body = { config: "c-fedcba9876543210" };
    const named = await call(service, "/v1/decisions/r-1/replay", { body });
    expect(named.json).toMatchObject({ identical: false, replayed_config: body.config });
    const wrong = await call(service, "/v1/decisions/r-1/replay", { body: { konfig: "x" } });
    expect(wrong.json).toMatchObject({ code: "invalid_request", errors: [{ pointer: "/konfig" }] });
    expect((await call(service, "/v1/decisions/theirs/replay", { body: {} })).status).toBe(404);
  });

  it("takes provenance in the tenant's name", async () => {
    const answer = await call(service, "/v1/provenance", { body: PROVENANCE });
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({ accepted: true });
    expect(store.noted).toMatchObject([
      { table: "provenance", event: { ...PROVENANCE, tenant: "acme", request_id: null } },
    ]);
    const capitals = { ...PROVENANCE, content_hash: `sha256:${"AB".repeat(32)}` };
    await call(service, "/v1/provenance", { body: capitals });
    expect(store.noted.at(-1)).toMatchObject({ event: { content_hash: PROVENANCE.content_hash } });
    const wrong = await call(service, "/v1/provenance", {
      body: { ...PROVENANCE, content_hash: "x" },
    });
    expect(wrong.json).toMatchObject({ errors: [{ pointer: "/content_hash" }] });
  });

  it("records what a person made of a flagged decision", async () => {
    const body = { resolution: "overturned", note: "known customer" };
    const key = service.admin;
    const answer = await call(service, "/v1/reviews/r-1", { body, key });
    expect(answer.json).toMatchObject({ request_id: "r-1", ...body, reviewer: "installed-admin" });
    expect(store.noted).toMatchObject([{ table: "reviews", event: { tenant: "acme" } }]);
    expect((await call(service, "/v1/reviews/r-2", { body, key })).status).toBe(404);
    expect((await call(service, "/v1/reviews/r-1", { body })).status).toBe(403);
    const maybe = await call(service, "/v1/reviews/r-1", { body: { resolution: "maybe" }, key });
    expect(maybe.status).toBe(400);
    const listed = await call(service, "/v1/reviews?open=1");
    expect((listed.json as { reviews: unknown[] }).reviews).toHaveLength(2);
  });

  it("reviews a decision of the tenant that is named, where several have one id", async () => {
    store.legs.push(legOf("r-1", { tenant: "other" }));
    const [body, key] = [{ resolution: "upheld" }, service.admin];
    const unclear = await call(service, "/v1/reviews/r-1", { body, key });
    expect(unclear.json).toMatchObject({ status: 400, code: "invalid_parameter" });
    expect(store.noted).toEqual([]);
    await call(service, "/v1/reviews/r-1?tenant=other", { body, key });
    expect(store.noted).toMatchObject([{ table: "reviews", event: { tenant: "other" } }]);
    // Another key's own tenant counts, whatever it names.
    const own = await call(service, "/v1/decisions/r-1?tenant=other");
    expect(own.json).toMatchObject({ legs: [{ tenant: "acme" }] });
  });

  it("asks for the scope", async () => {
    const key = await service.makeKey(["outcomes:write"]);
    for (const path of ["/v1/decisions", "/v1/decisions/r-1", "/v1/reviews"]) {
      expect((await call(service, path, { key })).status).toBe(403);
    }
    expect((await call(service, "/v1/export/outcomes/days", { key })).status).toBe(403);
  });

  it("asks the store for the caller's tenant alone, for all only as an administrator", async () => {
    const body = { sql: "select 1" };
    for (const key of [service.key, service.admin]) {
      await call(service, "/v1/query", { body, key });
      await call(service, "/v1/export/outcomes/days", { key });
      await call(service, "/v1/export/outcomes?day=2026-01-31", { key });
    }
    expect(store.tenants).toEqual(["acme", "acme", "acme", undefined, undefined, undefined]);
  });

  it("notes who made and who revoked a key, and no secret of it", async () => {
    const body = { tenant: "acme", scopes: ["score:read"] };
    const made = await call(service, "/v1/keys", { body, key: service.admin });
    const { key, key_id } = made.json as { key: string; key_id: string };
    await call(service, `/v1/keys/${key_id}`, { method: "DELETE", key: service.admin });
    const audit = { table: "audit_events", event: { tenant: "acme", actor: "installed-admin" } };
    expect(store.noted).toMatchObject([
      { ...audit, event: { ...audit.event, event: "api_key.created", detail: { key_id } } },
      { ...audit, event: { ...audit.event, event: "api_key.revoked", detail: { key_id } } },
    ]);
    expect(JSON.stringify(store.noted)).not.toContain(key);
  });

  it("exports a day of what there is, and nothing else", async () => {
    const days = await call(service, "/v1/export/outcomes/days?since=2026-01-01");
    expect(days.json).toEqual({ days: ["2026-01-31"] });
    const file = await call(service, "/v1/export/outcomes?day=2026-01-31");
    expect(file.status).toBe(200);
    expect((await call(service, "/v1/export/applied?day=2026-01-31")).status).toBe(404);
    for (const day of ["", "2026-1-31", "2026-13-01", "2026-01-31' OR 1=1 --"]) {
      const answer = await call(service, `/v1/export/outcomes?day=${encodeURIComponent(day)}`);
      expect(answer.json).toMatchObject({ code: "invalid_parameter" });
    }
  });
});
