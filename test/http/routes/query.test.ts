// SQL over HTTP: what an answer says of itself, how it waits for a position, and answers that are
// streamed: whole, cut short in plain sight, at the pace of the client, and over when it goes.
import net from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { call, problemIn } from "../_client.ts";
import { describeAdapters, openTestServer, START_MS, type TestServer } from "../_setup.ts";
import type { QueryOptions } from "../../../src/store/store.ts";
import { SCORED_VIEWS } from "../../../src/contract/views.ts";
import { RowStore } from "../_row-store.ts";

const NDJSON = { accept: "application/x-ndjson" };
const sql = "select subject from outcomes";

/** A store whose streams are as long as somebody takes from them. */
class LongStore extends RowStore {
  taken = 0;
  /** What ends queries that have been admitted. */
  fault: ServiceFault | undefined = undefined;

  override async query(
    asked: string,
    limits?: { readonly timeoutMs: number },
    tenant?: string,
    more: QueryOptions = {},
  ) {
    const result = await super.query(asked, limits, tenant, more);
    if (this.fault !== undefined) throw this.fault;
    await this.hold;
    return result;
  }

  override async openStream(asked: string, tenant?: string, more: QueryOptions = {}) {
    const opened = await super.openStream(asked, tenant, more);
    if (!asked.includes("endless")) return opened;
    const part = new TextEncoder().encode(`${"x".repeat(65_535)}\n`);
    return {
      ...opened,
      next: async () => {
        this.taken += 1;
        await new Promise((resolve) => setImmediate(resolve));
        return part;
      },
    };
  }

  override async waitUntilApplied(position: number, waitMsMax?: number): Promise<void> {
    if (position <= 7) return;
    const detail = `position ${position} is not in the rows yet, ${waitMsMax} ms`;
    throw new ServiceFault("store_behind", detail);
  }
}

describeAdapters("queries", (adapter) => {
  let service: TestServer;
  let store: LongStore;
  beforeAll(async () => {
    store = new LongStore();
    service = await openTestServer(adapter, { store });
  });
  beforeEach(() => {
    store.parts = ['{"n":1}\n{"n":2}\n', '{"n":3}\n'];
    store.cancelCount = 0;
    store.taken = 0;
  });
  afterAll(() => service.stop());

  const query = (body: object, headers: Record<string, string> = {}, path = "/v1/query") =>
    call(service, path, { body, headers });

  it("says as of which position and time", async () => {
    const asOf = { position: 7, time: new Date(START_MS).toISOString() };
    const json = await query({ sql });
    expect(json.json.as_of).toEqual(asOf);
    const csv = await query({ sql, format: "csv" });
    const lines = await query({ sql }, NDJSON);
    for (const { headers } of [json, csv, lines]) {
      expect(headers.get("x-as-of-position")).toBe("7");
      expect(headers.get("x-as-of-time")).toBe(asOf.time);
    }
  });

  it("hands values for parameters over, and points to what is none", async () => {
    expect((await query({ sql, params: ["a", 1, 0.5, true, null] })).status).toBe(200);
    expect(store.params).toEqual(["a", 1, 0.5, true, null]);
    await query({ sql, params: [2] }, NDJSON);
    expect(store.params).toEqual([2]);
    const wrong = problemIn(await query({ sql, params: [1, { a: 1 }] }));
    expect(wrong).toMatchObject({ code: "invalid_request", errors: [{ pointer: "/params/1" }] });
    const many = problemIn(await query({ sql, params: Array(101).fill(1) }));
    expect(many.errors?.[0]?.pointer).toBe("/params");
  });

  it.each([
    ["application/json", {}, "application/json", '"is_truncated":true'],
    ["application/msgpack", {}, "application/msgpack", "is_truncated"],
    ["*/*", {}, "application/json", '"is_truncated":true'],
    ["text/csv", {}, "text/csv; charset=utf-8", "subject,failures\r\n"],
    ["text/*, application/json;q=.5", {}, "text/csv; charset=utf-8", "subject,failures\r\n"],
    ["*/*", { format: "csv" }, "text/csv; charset=utf-8", "subject,failures\r\n"],
    ["application/json", { format: "csv" }, "text/csv; charset=utf-8", "subject,failures\r\n"],
    ["application/vnd.apache.parquet", {}, "application/vnd.apache.parquet", "PAR1"],
    ["application/vnd.apache.parquet", { format: "csv" }, "application/vnd.apache.parquet", "PAR1"],
    ["application/x-ndjson", {}, "application/x-ndjson", '{"n":1}\n'],
  ])(
    "answers %s %j in its form, which says whether rows were cut",
    async (accept, more, type, text) => {
      store.isCut = true;
      const answer = await query({ sql, ...more }, { accept });
      store.isCut = false;
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
      expect(answer.text).toContain(text);
      const isFile = type.startsWith("text/csv") || type.endsWith("parquet");
      expect(answer.headers.get("x-is-truncated")).toBe(isFile ? "true" : null);
      expect(answer.headers.get("x-as-of-position")).toBe("7");
      const whole = await query({ sql, ...more }, { accept });
      expect(whole.headers.get("x-is-truncated")).toBe(isFile ? "false" : null);
    },
  );

  it("gives a query no more time than its key has, nor than the service gives any", async () => {
    const ask = async (body: object) => {
      const scopes = ["analytics:read"];
      const made = { tenant: "shop", scopes, ...body };
      const { key, key_id } = (await call(service, "/v1/keys", { key: service.admin, body: made }))
        .json;
      const times = async () => {
        await call(service, "/v1/query", { key, body: { sql } });
        await call(service, "/v1/query", { key, body: { sql }, headers: NDJSON });
        return [store.timeoutMs, store.workMs];
      };
      return { key_id, times };
    };
    const plain = await ask({});
    expect(await plain.times()).toEqual([8000, undefined]);
    const short = await ask({ query_seconds_max: 1.5 });
    expect(await short.times()).toEqual([1500, 1500]);
    const path = `/v1/keys/${short.key_id}`;
    const patch = (seconds: unknown) =>
      call(service, path, {
        method: "PATCH",
        key: service.admin,
        body: { query_seconds_max: seconds },
      });
    expect((await patch(30)).json.query_seconds_max).toBe(30);
    expect(await short.times()).toEqual([8000, 30_000]);
    expect((await patch(null)).json.query_seconds_max).toBe(null);
    expect(await short.times()).toEqual([8000, undefined]);
    for (const wrong of [0, 61, "2"]) {
      const { errors } = problemIn(await patch(wrong));
      expect(errors).toMatchObject([{ pointer: "/query_seconds_max" }]);
    }
  });

  it("names the forms that there are to those who accept none of them", async () => {
    const refused = await query({ sql }, { accept: "text/html, application/vnd.ms-excel" });
    expect(problemIn(refused)).toMatchObject({
      status: 406,
      code: "not_acceptable",
      detail:
        "answers are `application/json`, `application/msgpack`, `text/csv`, `application/vnd.apache.parquet` or `application/x-ndjson`",
    });
  });

  it("ends a query of the same key by its id, and no other", async () => {
    const end = (key?: string) =>
      call(service, "/v1/query/q-1", { method: "DELETE", ...(key === undefined ? {} : { key }) });
    expect((await end()).status).toBe(404);
    expect((await query({ sql, query_id: "q-1" })).status).toBe(200);
    store.running.add(`${store.handle}`);
    expect(problemIn(await end(service.admin)).code).toBe("not_found");
    expect((await end()).json).toEqual({ query_id: "q-1" });
    expect((await end()).status).toBe(404);
    const tooLong = problemIn(await query({ sql, query_id: "x".repeat(65) }));
    expect(tooLong.errors?.[0]?.pointer).toBe("/query_id");
  });

  it("waits for a position, and says when it is not reached", async () => {
    expect((await query({ sql }, {}, "/v1/query?min_position=7")).status).toBe(200);
    for (const headers of [{}, NDJSON]) {
      const late = await query({ sql }, headers, "/v1/query?min_position=8");
      expect(late.status).toBe(504);
      expect(problemIn(late)).toMatchObject({
        code: "store_behind",
        detail: "position 8 is not in the rows yet, 5000 ms",
      });
      expect(late.headers.get("retry-after")).toBe("1");
    }
    for (const wrong of ["", "x", "-1", "1e3", "1".repeat(16)]) {
      const refused = await query({ sql }, {}, `/v1/query?min_position=${wrong}`);
      expect(problemIn(refused).code).toBe("invalid_parameter");
    }
  });

  it("streams lines to those who ask for them", async () => {
    for (const accept of ["application/x-ndjson", "application/jsonl, application/json;q=.5"]) {
      const answer = await query({ sql }, { accept });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("content-length")).toBeNull();
      expect(answer.headers.get("x-request-id")).toMatch(/.{36}/);
      expect(answer.text).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
    }
    store.parts = [];
    expect((await query({ sql }, NDJSON)).text).toBe("");
  });

  it("streams nothing else, and keeps the connection for what comes next", async () => {
    for (const accept of ["*/*", "application/json", "application/x-ndjson;q=0, */*"]) {
      const plain = await query({ sql }, { accept });
      expect(plain.headers.get("content-type")).toBe("application/json");
    }
    expect(problemIn(await query({ sql }, { accept: "text/html" })).code).toBe("not_acceptable");
    expect(problemIn(await query({ sql: "DROP TABLE x" }, NDJSON)).code).toBe("query_rejected");
    expect(problemIn(await query({}, NDJSON)).code).toBe("invalid_request");
  });

  it("cuts the connection where the rows end early", async () => {
    store.parts = ['{"n":1}\n', new Error("the database is gone")];
    await expect(query({ sql }, NDJSON)).rejects.toThrow(
      /terminated|fetch failed|other side closed/,
    );
    expect((await query({ sql })).status).toBe(200);
  });

  it("takes no more than a client does, and ends with it", async () => {
    const body = JSON.stringify({ sql: "select endless" });
    const head = [
      "POST /v1/query HTTP/1.1",
      "Host: x",
      `Authorization: Bearer ${service.key}`,
      "Accept: application/x-ndjson",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
    ].join("\r\n");
    const socket = net.connect(service.server.port, "127.0.0.1");
    socket.pause();
    socket.write(`${head}\r\n\r\n${body}`);
    await vi.waitFor(() => expect(store.taken).toBeGreaterThan(2), { timeout: 10_000 });
    let last = -1;
    // What the kernel buffers for a socket is some megabytes; then nothing is asked for any more.
    await vi.waitFor(
      () => {
        const isStill = store.taken === last;
        last = store.taken;
        expect(isStill).toBe(true);
      },
      { timeout: 10_000, interval: 300 },
    );
    expect(last).toBeLessThan(400);
    expect(store.cancelCount).toBe(0);
    expect(service.server.inflight).toBe(1);
    socket.destroy();
    await vi.waitFor(() => expect(store.cancelCount).toBe(1), { timeout: 10_000 });
    expect(service.server.inflight).toBe(0);
  });

  it("lists the views with the meaning of every column", async () => {
    const { json } = await call(service, "/v1/query/schema");
    expect(json).toEqual({
      views: [
        {
          name: "outcomes",
          comment: "outcomes",
          columns: [{ name: "subject", type: "VARCHAR", comment: "the agent reported on" }],
        },
      ],
      time_zone: "UTC",
    });
    const writer = await service.makeKey(["outcomes:write"]);
    const refused = await call(service, "/v1/query/schema", { key: writer });
    expect(problemIn(refused).code).toBe("insufficient_scope");
  });

  it("exports every view, scores only with the scope for scores", async () => {
    const analyst = await service.makeKey(["analytics:read"]);
    const exported = (path: string, key?: string) =>
      call(service, `/v1/export/${path}`, key === undefined ? {} : { key });
    for (const path of [
      "outcomes?day=2026-01-31&by=settled",
      "agents",
      "policies?since=2026-01-01",
    ]) {
      const { status, headers } = await exported(path);
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get("content-type")).toBe("application/vnd.apache.parquet");
    }
    expect((await exported("policies", analyst)).status).toBe(200);
    for (const view of ["agents", "agents/days", "scores_daily?day=2026-01-31"]) {
      expect(problemIn(await exported(view, analyst)).code).toBe("insufficient_scope");
    }
    for (const wrong of [
      "outcomes",
      "outcomes?day=x",
      "outcomes?day=2026-01-31&by=now",
      "agents?by=",
    ]) {
      expect(problemIn(await exported(wrong)).code).toBe("invalid_parameter");
    }
    expect(problemIn(await exported("outcome_rows")).code).toBe("not_found");
  });

  it("withholds scores from keys without the scope for scores", async () => {
    const analyst = await service.makeKey(["analytics:read"]);
    for (const headers of [{}, NDJSON]) {
      await call(service, "/v1/query", { body: { sql }, key: analyst, headers });
      expect(store.withheld).toEqual(SCORED_VIEWS);
      for (const view of SCORED_VIEWS) {
        const body = { sql: `select * from ${view}` };
        const refused = await call(service, "/v1/query", { body, key: analyst, headers });
        expect(problemIn(refused).code).toBe("insufficient_scope");
        expect((await query(body, headers)).status).toBe(200);
      }
    }
  });

  it("counts a query and a file of current scores as one read each, and no other", async () => {
    const counted = async () => (await call(service, "/v1/usage")).json.keys[0].reads;
    const before = await counted();
    const ask = (text: string, headers = {}) => query({ sql: text }, headers);
    const read = (route: string) => call(service, `/v1/export/${route}`);
    await ask("select * from outcomes");
    await ask("select * from decisions");
    await read("scores_daily/days");
    await read("decisions?day=2026-01-31");
    expect(await counted()).toEqual(before);
    for (const text of ["select * from agents", "select x from scores_daily"]) {
      for (const headers of [{}, NDJSON]) expect((await ask(text, headers)).status).toBe(200);
    }
    // The text of a rejection comes of the rows; that of a store that is away does not.
    store.fault = new ServiceFault("query_rejected", "could not convert 712.5");
    expect((await ask("select * from agents")).status).toBe(422);
    store.fault = new ServiceFault("store_unavailable", "no store");
    expect((await ask("select * from agents")).status).toBe(503);
    store.fault = undefined;
    await read("agents");
    await read("scores_daily?day=2026-01-31");
    const { query: queries, export: files } = before;
    expect(await counted()).toEqual({ ...before, query: queries + 5, export: files + 2 });
  });

  it("counts nothing for an answer that comes too late", async () => {
    const counted = async () => (await call(service, "/v1/usage")).json.keys[0].paid_reads;
    const before = await counted();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.hold = promise;
    const headers = { "x-deadline-ms": "20" };
    const late = await query({ sql: "select * from agents" }, headers);
    expect(problemIn(late).code).toBe("deadline_exceeded");
    store.hold = undefined;
    resolve();
    expect((await query({ sql })).status).toBe(200);
    expect(await counted()).toBe(before);
  });
});
