// Routes of operators and of the service itself, and the headers that all routes share, over both
// adapters.
import { describe, expect, it } from "vitest";
import { ROUTES } from "../../../src/http/routes/table.ts";
import { call, problemIn } from "../_client.ts";
import { describeServers, UUID_V7 } from "../_servers.ts";
import { CHECK_BODY, HANDSHAKE_BODY, OUTCOME_BODY, VERIFY_BODY } from "../_setup.ts";

describeServers("service routes", (service) => {
  describe("operators", () => {
    it("makes, lists and revokes keys", async () => {
      const body = {
        tenant: "shop",
        scopes: ["score:read"],
        label: "gateway",
        minimum_scores: { L3: 700 },
        expires_at: "2026-04-01T00:00:00Z",
      };
      const made = await call(service, "/v1/keys", { key: service.admin, body });
      expect(made.status).toBe(201);
      expect(made.json).toMatchObject({
        tenant: "shop",
        label: "gateway",
        minimum_scores: { L0: 300, L3: 700 },
        expires_at: "2026-04-01T00:00:00.000Z",
        revoked_at: null,
      });
      const { key, key_id: keyId } = made.json;
      expect((await call(service, "/v1/check", { key, body: CHECK_BODY })).status).toBe(200);
      const listed = await call(service, "/v1/keys", { key: service.admin });
      expect(listed.text).not.toContain(key.slice(20, 50));
      expect(listed.json.keys.map((each: { key_id: string }) => each.key_id)).toContain(keyId);
      const options = { key: service.admin, method: "DELETE" };
      const revoked = await call(service, `/v1/keys/${keyId}`, options);
      expect([revoked.status, revoked.json.revoked_at]).toEqual([200, "2026-03-01T12:00:00.000Z"]);
      expect((await call(service, "/v1/check", { key, body: CHECK_BODY })).status).toBe(401);
      const unknown = await call(service, "/v1/keys/nobody0000", options);
      expect(problemIn(unknown).code).toBe("not_found");
    });

    it("runs a query, as JSON or CSV", async () => {
      const sql = "SELECT subject, failures FROM agents";
      const answer = await call(service, "/v1/query", { body: { sql } });
      expect(answer.json).toEqual({
        columns: [
          { name: "subject", type: "VARCHAR" },
          { name: "failures", type: "BIGINT" },
        ],
        rows: [
          ["agent://otc/1", 3],
          ['with "quotes", commas', null],
        ],
        is_truncated: false,
        elapsed_ms: 1.5,
        as_of: { position: 7, time: "2026-03-01T12:00:00.000Z" },
      });
      const csv = await call(service, "/v1/query", { body: { sql, format: "csv" } });
      expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8");
      expect(csv.text).toBe(
        'subject,failures\r\nagent://otc/1,3\r\n"with ""quotes"", commas",\r\n',
      );
      const rejected = await call(service, "/v1/query", { body: { sql: "DROP TABLE agents" } });
      expect(problemIn(rejected).code).toBe("query_rejected");
    });

    it("meters paid reads per key; reporting is free", async () => {
      const key = await service.makeKey(["score:read", "outcomes:write"]);
      await call(service, "/v1/check", { key, body: CHECK_BODY });
      await call(service, "/v1/check", { key, body: { subject: "x" } });
      await call(service, "/v1/handshake", { key, body: HANDSHAKE_BODY });
      await call(service, "/v1/agents/agent://a/b", { key });
      const items = [VERIFY_BODY, VERIFY_BODY, {}];
      await call(service, "/v1/trust/verify/batch", { key, body: { items } });
      await call(service, "/v1/outcomes", { key, body: OUTCOME_BODY });
      const usage = await call(service, "/v1/usage", { key });
      expect(usage.json.since).toBe("2026-03-01T00:00:00.000Z");
      expect(usage.json.until).toBe("2026-03-02T00:00:00.000Z");
      const reads = { verify: 2, check: 1, handshake: 1, explain: 1 };
      const others = { list: 0, history: 0, query: 0, export: 0 };
      expect(usage.json.keys).toContainEqual(
        expect.objectContaining({
          tenant: "acme",
          paid_reads: 5,
          reads: { ...reads, ...others },
          outcomes_reported: 1,
        }),
      );
      const all = await call(service, "/v1/usage", { key: service.admin });
      expect(all.json.keys.length).toBeGreaterThan(1);
    });
  });

  describe("the service itself", () => {
    it("tells a stranger whether it lives and is ready, and nothing else", async () => {
      const live = await call(service, "/livez", { key: null });
      expect([live.status, live.json]).toEqual([200, { code: "live" }]);
      const ready = await call(service, "/readyz", { key: null });
      expect([ready.status, ready.json]).toEqual([200, { ready: true, code: "ready" }]);
      service.readiness.ready = false;
      service.readiness.reasons.push("journal is not writable");
      const reader = await service.makeKey(["score:read"]);
      for (const key of [null, reader, "tr_live_nonsense"]) {
        const unready = await call(service, "/readyz", { key });
        expect([unready.status, unready.json]).toEqual([503, { ready: false, code: "not_ready" }]);
      }
      service.readiness.ready = true;
      service.readiness.reasons.pop();
      expect((await call(service, "/metrics", { key: null })).status).toBe(401);
      expect((await call(service, "/metrics", { key: reader })).status).toBe(403);
    });

    it("has no cluster to tell of when it is the whole bureau", async () => {
      const alone = await call(service, "/v1/cluster");
      expect([alone.status, problemIn(alone).code]).toEqual([404, "not_found"]);
      const segments = await call(service, "/v1/cluster/segments", { key: service.admin });
      expect([segments.status, problemIn(segments).code]).toEqual([404, "not_found"]);
    });

    it("says why it is not ready to who may read metrics", async () => {
      const health = await call(service, "/healthz", {
        key: null,
        headers: { accept: "text/html" },
      });
      expect([health.status, health.json]).toEqual([200, { status: "ok", version: "0.0.0-test" }]);
      const ready = await call(service, "/readyz");
      expect([ready.status, ready.json]).toEqual([
        200,
        { ready: true, code: "ready", reasons: [] },
      ]);
      service.readiness.ready = false;
      service.readiness.reasons.push("journal is not writable");
      const unready = await call(service, "/readyz");
      expect(unready.status).toBe(503);
      expect(unready.json).toEqual({
        ready: false,
        code: "not_ready",
        reasons: ["journal is not writable"],
      });
      service.readiness.ready = true;
      service.readiness.reasons.pop();
      const stream = {
        node: "a",
        generation: 1,
        position: 7,
        lag_messages: 0,
        lag_ms: 240,
        connected: true,
        leader_known: true,
        away_since: null,
      };
      Object.assign(service.readiness, { stream });
      expect((await call(service, "/readyz")).json.stream).toEqual(stream);
      expect((await call(service, "/readyz", { key: null })).json.stream).toBeUndefined();
      Object.assign(service.readiness, { stream: undefined });
    });

    it("counts what it does", async () => {
      const read = async () => {
        const answer = await call(service, "/metrics");
        expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4\b/);
        const lines = answer.text.split("\n").filter((line) => /^[a-z]/.test(line));
        return new Map(
          lines.map((line) => {
            const at = line.lastIndexOf(" ");
            return [line.slice(0, at), Number(line.slice(at + 1))];
          }),
        );
      };
      const before = await read();
      await call(service, "/v1/check", { body: CHECK_BODY });
      await call(service, "/v1/check", { body: {} });
      await call(service, "/nowhere");
      const after = await read();
      const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
      expect(grown('trustrank_http_requests_total{route="check",status="200"}')).toBe(1);
      expect(grown('trustrank_http_requests_total{route="check",status="400"}')).toBe(1);
      expect(grown('trustrank_http_requests_total{route="unmatched",status="404"}')).toBe(1);
      expect(grown('trustrank_check_decisions_total{decision="connect"}')).toBe(1);
      expect(grown('trustrank_http_faults_total{code="not_found"}')).toBe(1);
      const timed = 'http_request_duration_seconds_count{route="check",status_class="2xx"}';
      expect(grown(`trustrank_${timed}`)).toBe(1);
      expect(after.get("process_start_time_seconds")).toBeGreaterThan(0);
      expect(after.get("trustrank_agents")).toBe(7);
      expect(after.get('trustrank_config_info{version="c-0123456789abcdef"}')).toBe(1);
    });

    it("describes the routes it serves", async () => {
      const answer = await call(service, "/openapi.json");
      const served = ROUTES.map((route) => `${route.method} ${route.path}`).toSorted();
      const described = Object.entries<object>(answer.json.paths)
        .flatMap(([path, item]) =>
          Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
        )
        .toSorted();
      expect(described).toEqual(served);
    });

    it("answers HEAD as GET without the body", async () => {
      const get = await call(service, "/healthz");
      const head = await call(service, "/healthz", { method: "HEAD" });
      expect([head.status, head.text]).toEqual([200, ""]);
      expect(head.headers.get("content-length")).toBe(get.headers.get("content-length"));
    });

    it("ignores the query where a route has none", async () => {
      expect((await call(service, "/healthz?deep=1")).status).toBe(200);
    });
  });

  describe("common headers", () => {
    it("echoes a valid request id and names the answer by a UUIDv7 of its own", async () => {
      const headers = { "x-request-id": "gw-42:a/b" };
      const echoed = await call(service, "/v1/check", { body: CHECK_BODY, headers });
      expect(echoed.headers.get("x-request-id")).toBe("gw-42:a/b");
      expect(echoed.json.request_id).toMatch(UUID_V7);
      const again = await call(service, "/v1/check", { body: CHECK_BODY, headers });
      expect(again.json.request_id).not.toBe(echoed.json.request_id);
      for (const id of ["has space", "x".repeat(129), 'quo"te']) {
        const answer = await call(service, "/healthz", { headers: { "x-request-id": id } });
        expect(answer.headers.get("x-request-id")).toMatch(UUID_V7);
      }
    });

    it("tells its time when asked", async () => {
      const headers = { "x-server-timing": "1" };
      const timed = await call(service, "/v1/check", { body: CHECK_BODY, headers });
      expect(timed.headers.get("server-timing")).toMatch(/^app;dur=\d+\.\d{3}$/);
      const plain = await call(service, "/v1/check", { body: CHECK_BODY });
      expect(plain.headers.get("server-timing")).toBeNull();
    });

    it("shows no server or version header", async () => {
      const answer = await call(service, "/healthz");
      for (const name of ["server", "x-powered-by", "uwebsockets"]) {
        expect(answer.headers.get(name)).toBeNull();
      }
    });
  });
});
