// The access log and spans of a real service with several HTTP threads, against a real collector: what is
// told, that all of it is sent before the end, and that nothing is loaded where nothing is asked for.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { endAll, startCommand } from "../cli/_process.ts";
import { attributesOf, openCollector } from "./_collector.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-watched-"));
const KEY = "operator-own-admin-key-of-40-characters";
const AGENT = "agent://globex/price-scout";
const VERIFY = { agent_id: AGENT, action: "order.place", tool_level: "L3", context: {} };
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
/** Writes down each package of OpenTelemetry that is asked for, on any thread. */
const RECORDER = join(folder, "recorder.mjs");
writeFileSync(
  RECORDER,
  `import { appendFileSync } from "node:fs";
   import { registerHooks } from "node:module";
   registerHooks({ resolve(specifier, context, next) {
     if (/^@opentelemetry|spans\\.(ts|js)$/.test(specifier))
       appendFileSync(process.env.RECORD, specifier + " from " + context.parentURL + "\\n");
     return next(specifier, context);
   } });`,
);

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

type Ask = (path: string, headers?: Record<string, string>, body?: unknown) => Promise<number>;

/** Runs a service for the time of `work`; its log, and what it loaded. */
async function during(
  flags: readonly string[],
  environment: Record<string, string>,
  work: (ask: Ask) => Promise<void>,
) {
  const own = mkdtempSync(join(folder, "run-"));
  const record = join(own, "loaded.txt");
  const at = ["--port", "0", "--json", "--data-dir", join(own, "data")];
  const server = startCommand(["serve", ...at, ...flags], {
    TRUSTRANK_ADMIN_KEY: KEY,
    NODE_OPTIONS: `--import ${RECORDER}`,
    RECORD: record,
    ...environment,
  });
  const { url } = JSON.parse(await server.firstLine) as { url: string };
  await work(async (path, headers = {}, body) => {
    const answer = await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${KEY}`,
        "content-type": "application/json",
        connection: "close",
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await answer.text();
    return answer.status;
  });
  server.process.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  expect(code).toBe(0);
  const lines: Record<string, unknown>[] = stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const loaded = existsSync(record) ? readFileSync(record, "utf8") : "";
  // The counter of metrics brings the bare interface with it.
  const sdk = loaded.split("\n").filter((line) => /opentelemetry\/(?!api)|spans\./.test(line));
  return { lines, requests: lines.filter(({ message }) => message === "request"), stderr, sdk };
}

it("writes one line a request, whichever thread answered, and the last before the end", async () => {
  const { requests, stderr, sdk } = await during(
    ["--http-threads", "3", "--access-log", "1"],
    {},
    async (ask) => {
      for (let n = 0; n < 12; n += 1) expect(await ask("/v1/trust/verify", {}, VERIFY)).toBe(200);
      await ask("/v1/trust/verify", { traceparent: `00-${TRACE}-${PARENT}-00` }, VERIFY);
      // Relayed to the main thread, and refused there.
      expect(await ask("/v1/query", {}, { sql: "DROP TABLE outcomes" })).toBe(422);
      expect(await ask("/nowhere", { authorization: "" })).toBe(404);
    },
  );
  expect(requests).toHaveLength(15);
  expect(requests.filter(({ route }) => route === "verify")).toHaveLength(13);
  for (const line of requests.filter(({ route }) => route === "verify")) {
    expect(line).toMatchObject({
      level: "info",
      method: "POST",
      status: 200,
      duration_ms: expect.any(Number),
      tenant: "operator",
      key_id: expect.any(String),
      request_id: expect.stringMatching(/^0\w{7}-/),
    });
  }
  expect(requests.filter((line) => line["trace_id"] === TRACE)).toHaveLength(1);
  expect(requests.filter(({ route }) => route === "query")).toMatchObject([
    { status: 422, code: "query_rejected" },
  ]);
  expect(requests.filter(({ route }) => route === "unmatched")).toMatchObject([
    { method: "GET", status: 404, code: "not_found" },
  ]);
  expect(new Set(requests.map((line) => line["request_id"])).size).toBe(15);
  for (const secret of [KEY, AGENT, "DROP TABLE", "order.place"]) {
    expect(stderr).not.toContain(secret);
  }
  expect(sdk).toEqual([]);
});

it("writes no line of a request, and loads no SDK, where none is asked for", async () => {
  const { requests, sdk } = await during(["--http-threads", "2"], {}, async (ask) => {
    await ask("/v1/trust/verify", { traceparent: `00-${TRACE}-${PARENT}-01` }, VERIFY);
  });
  expect([requests, sdk]).toEqual([[], []]);
});

it("sends a span of each sampled request to the collector, the last at the end", async () => {
  const collector = await openCollector();
  const before = Date.now();
  const { sdk, lines } = await during(
    ["--http-threads", "3"],
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=abc",
      OTEL_SERVICE_NAME: "bureau-of-acme",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    },
    async (ask) => {
      for (let n = 0; n < 9; n += 1) await ask("/v1/trust/verify", {}, VERIFY);
      await ask("/v1/trust/verify", { traceparent: `00-${TRACE}-${PARENT}-01` }, VERIFY);
      await ask("/v1/trust/verify", { traceparent: `00-${TRACE}-${PARENT}-00` }, VERIFY);
      await ask("/v1/query", {}, { sql: "DROP TABLE outcomes" });
      await ask(`/v1/agents/${encodeURIComponent(AGENT)}`);
    },
  );
  collector.close();
  expect(sdk.join("\n")).toContain("@opentelemetry/sdk-trace");
  expect(lines.filter(({ level }) => level !== "info")).toEqual([]);
  expect([...collector.paths]).toEqual(["POST /v1/traces"]);
  expect(collector.headers[0]).toMatchObject({ "x-collector-key": "abc" });
  expect(collector.resources[0]).toMatchObject({
    "service.name": "bureau-of-acme",
    "service.version": expect.any(String),
    "deployment.environment.name": "test",
  });
  const { spans } = collector;
  expect(spans).toHaveLength(12);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(12);
  const [child, ...others] = spans.filter(({ traceId }) => traceId === TRACE);
  expect([child!.parentSpanId, others]).toEqual([PARENT, []]);
  const roots = spans.filter(({ parentSpanId }) => !parentSpanId);
  expect(roots).toHaveLength(11);
  expect(new Set(roots.map(({ traceId }) => traceId)).size).toBe(11);
  for (const { kind, startTimeUnixNano, endTimeUnixNano } of spans) {
    const [startMs, endMs] = [startTimeUnixNano, endTimeUnixNano].map((ns) => Number(ns) / 1e6);
    expect([kind, startMs! >= before - 1, endMs! > startMs!]).toEqual([2, true, true]);
  }
  expect(attributesOf(child!.attributes)).toEqual({
    "http.request.method": "POST",
    "http.route": "/v1/trust/verify",
    "http.response.status_code": 200,
    "trustrank.request_id": expect.stringMatching(/^0\w{7}-/),
    "trustrank.tenant": "operator",
    "trustrank.key_id": expect.any(String),
  });
  const named = (name: string) => spans.filter((span) => span.name === name);
  expect(named("GET /v1/agents/{id}")).toHaveLength(1);
  const [refused] = named("POST /v1/query");
  expect(attributesOf(refused!.attributes)).toMatchObject({ "error.type": "query_rejected" });
  expect(refused!.status?.code ?? 0).toBe(0);
  expect(JSON.stringify(spans)).not.toContain("price-scout");
});

it("chooses by the sampler, and puts the trace that it began into the decision log", async () => {
  const collector = await openCollector();
  await during(
    [],
    {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own/path`,
      OTEL_TRACES_SAMPLER: "always_on",
    },
    async (ask) => {
      await ask("/v1/trust/verify", { traceparent: `00-${TRACE}-${PARENT}-00` }, VERIFY);
      await ask("/v1/trust/verify", {}, VERIFY);
      await expect.poll(() => collector.spans.length, { timeout: 10_000 }).toBe(2);
      const { traceId } = collector.spans[1]!;
      const sql = `SELECT CASE WHEN EXISTS (FROM decisions WHERE trace_id = '${traceId}')
        THEN 1 ELSE error('not yet') END`;
      await expect.poll(() => ask("/v1/query", {}, { sql }), { timeout: 15_000 }).toBe(200);
    },
  );
  collector.close();
  expect([...collector.paths]).toEqual(["POST /own/path"]);
  expect(collector.spans.some(({ traceId }) => traceId === TRACE)).toBe(true);
});

it("tells once that the collector fails, and goes on", async () => {
  const collector = await openCollector();
  collector.state.status = 400;
  const { lines } = await during(
    [],
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    async (ask) => {
      for (let round = 1; round <= 2; round += 1) {
        await ask("/v1/trust/verify", {}, VERIFY);
        await expect.poll(() => collector.headers.length, { timeout: 10_000 }).toBe(round);
      }
      collector.state.status = 200;
      await ask("/v1/trust/verify", {}, VERIFY);
      await expect.poll(() => collector.spans.length, { timeout: 10_000 }).toBe(1);
    },
  );
  collector.close();
  const told = lines.filter(({ message }) => String(message).startsWith("traces_"));
  expect(told).toMatchObject([
    { level: "warn", message: "traces_not_sent", detail: expect.any(String) },
    { level: "info", message: "traces_sent_again" },
  ]);
});

it("ends in time when the collector does not answer at all", async () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://192.0.2.1:4318" };
  const { lines } = await during([], environment, async (ask) => {
    await ask("/v1/trust/verify", {}, VERIFY);
  });
  expect(lines.at(-1)).not.toMatchObject({ message: "service_end_late" });
});
