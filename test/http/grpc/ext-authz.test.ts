// Envoy's external authorization over gRPC, asked by a client that speaks Envoy's published API:
// verdicts and headers as over HTTP, whose words count, faults, deadlines and the end.
import net from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { buildFaultReply } from "../../../src/http/codec/reply.ts";
import { buildCheckAnswer } from "../../../src/http/grpc/check-answer.ts";
import { CALLER_BY_PRINCIPAL, parseCallerSource } from "../../../src/http/grpc/caller.ts";
import { buildRequestHead } from "../../../src/http/grpc/check-request.ts";
import { type ExtAuthzServer, listenExtAuthz } from "../../../src/http/grpc/server.ts";
import { FLAGGED_AGENT } from "../_bureau.ts";
import { call } from "../_client.ts";
import { openTestServer, type TestServer } from "../_setup.ts";
import { connect, type Envoy } from "./_envoy.ts";

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const PLACE = { host: "127.0.0.1", port: 0, systemClock: Date.now, logger: QUIET };

let service: TestServer;
let grpc: ExtAuthzServer;
let envoy: Envoy;
beforeAll(async () => {
  service = await openTestServer("node");
  const { server } = service;
  const ask = server.ask.bind(server);
  grpc = await listenExtAuthz({ ...PLACE, source: CALLER_BY_PRINCIPAL, ask });
  envoy = connect(grpc.port);
});
afterAll(async () => {
  envoy.close();
  await grpc.close(1000);
  await service.stop();
});

const operator = (level = "L3") => ({
  authorization: `Bearer ${service.key}`,
  "x-trust-tool-level": level,
});
const from = (principal: string, more: object = {}, headers: Record<string, string> = {}) => ({
  attributes: {
    source: { principal },
    request: { http: { method: "PUT", path: "/a?tool_level=L0", headers } },
    ...more,
  },
});
const ask = (principal: string, more: object = {}, headers: Record<string, string> = {}) =>
  envoy.check(from(principal, more, headers), { metadata: operator() });

describe("a verdict", () => {
  it("lets through with the headers that HTTP gives, and metadata for Envoy", async () => {
    const answer = await ask("spiffe://test/connect");
    const path = "/v1/gateway/authorize?profile=envoy&tool_level=L3&agent_id=agent://test/connect";
    const { headers } = await call(service, path);
    const expected = [...headers].filter(([name]) => name.startsWith("x-trust-"));
    const { "x-trust-request-id": id, ...rest } = answer.headers;
    expect({ ...rest, "x-trust-request-id": expect.any(String) }).toEqual({
      ...Object.fromEntries(expected),
      "x-trust-request-id": expect.any(String),
    });
    expect([answer.callCode, answer.code]).toEqual([0, 0]);
    expect(answer.metadata).toEqual({
      verdict: "ALLOW",
      reason: headers.get("x-trust-reason"),
      score: Number(headers.get("x-trust-score")),
      tier: headers.get("x-trust-tier"),
      risk: headers.get("x-trust-risk"),
      effective: "allow",
      flagged: false,
      enforced: true,
      request_id: id,
    });
  });

  it.each([
    ["verify", "CHALLENGE"],
    ["escalate", "QUARANTINE"],
    ["refuse", "BLOCK"],
  ])("of %s denies with 403 and %s, and tells no numbers", async (agent, verdict) => {
    const answer = await ask(`agent://test/${agent}`);
    expect([answer.callCode, answer.code, answer.httpStatus]).toEqual([0, 7, 403]);
    expect(JSON.parse(answer.body)).toEqual({
      type: "about:blank",
      title: "Forbidden",
      status: 403,
      verdict,
      reason: answer.metadata["reason"],
      request_id: answer.metadata["request_id"],
    });
    expect(Object.keys(answer.headers).toSorted()).toEqual([
      "cache-control",
      "content-type",
      "x-request-id",
      "x-trust-effective",
      "x-trust-reason",
      "x-trust-request-id",
      "x-trust-verdict",
    ]);
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.metadata["score"]).toEqual(expect.any(Number));
  });

  it("asks for a stronger login where the route says so", async () => {
    const context_extensions = { challenge: "step-up", acr_values: "phr" };
    const answer = await ask("agent://test/verify", { context_extensions });
    expect([answer.code, answer.httpStatus]).toEqual([16, 401]);
    expect(answer.headers["www-authenticate"]).toMatch(
      /^Bearer error="insufficient_user_authentication", .*, acr_values="phr"$/,
    );
    expect(JSON.parse(answer.body)).toMatchObject({ status: 401, verdict: "CHALLENGE" });
    const metadata = { ...operator(), "x-trust-challenge": "step-up", "x-trust-max-age": "60" };
    const byFilter = await envoy.check(from("agent://test/verify"), { metadata });
    expect(byFilter.headers["www-authenticate"]).toMatch(/max_age="60"$/);
  });

  it("marks what is allowed on a low score, for the application, the end client and the log", async () => {
    const metadata = operator("L1");
    const answer = await envoy.check(from(FLAGGED_AGENT), { metadata });
    expect([answer.code, answer.metadata["flagged"]]).toEqual([0, true]);
    expect(answer.headers["x-trust-flagged"]).toBe("true");
    expect(answer.clientHeaders).toEqual({ "x-trust-flagged": "true" });
    const clear = await envoy.check(from("agent://test/connect"), { metadata });
    expect([clear.headers["x-trust-flagged"], clear.clientHeaders]).toEqual([undefined, {}]);
  });

  it("lets a shadow key through with the real verdict", async () => {
    const key = await service.makeKey(["score:read"], { isShadow: true });
    const metadata = { ...operator(), authorization: `Bearer ${key}` };
    const answer = await envoy.check(from("agent://test/refuse"), { metadata });
    expect([answer.code, answer.headers["x-trust-verdict"]]).toEqual([0, "BLOCK"]);
    expect(answer.headers["x-trust-enforced"]).toBe("false");
  });

  it("costs one paid read, and is counted under the gateway's route", async () => {
    const path = "/v1/usage?group_by=tenant";
    const reads = async () => (await call(service, path)).json.rows[0]?.reads.verify ?? 0;
    const before = await reads();
    await ask("agent://a/b");
    expect((await reads()) - before).toBe(1);
    const { text } = await call(service, "/metrics", { key: service.admin });
    expect(text).toContain('requests_total{route="gateway_authorize",status="200"}');
  });
});

describe("whose word counts", () => {
  it("the certificate's and the operator's, never the end client's", async () => {
    const forged = {
      "x-trust-agent-id": "agent://test/connect",
      "x-trust-tool-level": "L0",
      "x-trust-challenge": "step-up",
      "x-trust-max-age": "1",
      authorization: "Bearer of the client",
    };
    const answer = await ask("agent://test/refuse", {}, forged);
    expect([answer.httpStatus, answer.headers["x-trust-verdict"]]).toEqual([403, "BLOCK"]);
    const nobody = await ask("", {}, forged);
    expect([nobody.code, nobody.httpStatus]).toEqual([3, 400]);
  });

  it("the route's before the filter's", async () => {
    const context_extensions = { tool_level: "L0" };
    expect((await ask("agent://test/verify", { context_extensions })).code).toBe(7);
    const unknown = await ask("agent://test/connect", { context_extensions: { tool_level: "L9" } });
    expect(JSON.parse(unknown.body).errors[0].pointer).toBe("/tool_level");
    const head = buildRequestHead(
      {
        request: {
          attributes: { contextExtensions: { stakes: "5", agent_id: "agent://a/b" } },
        },
        metadata: (name) => (name === "x-trust-stakes" ? ["7"] : []),
        remainingMs: Number.POSITIVE_INFINITY,
      },
      CALLER_BY_PRINCIPAL,
    );
    expect(head.query).toBe("profile=envoy&stakes=5");
    expect([...head.forwarded!]).toEqual([["x-trust-stakes", "7"]]);
    expect(head.deadlineMs).toBeUndefined();
  });

  it("a header's, once the operator has named it", async () => {
    const source = parseCallerSource("header:x-client-agent");
    const { server } = service;
    const other = await listenExtAuthz({ ...PLACE, source, ask: server.ask.bind(server) });
    const client = connect(other.port);
    const headers = { "x-client-agent": "agent://test/refuse" };
    const request = from("agent://test/connect", {}, headers);
    const answer = await client.check(request, { metadata: operator() });
    expect(answer.headers["x-trust-verdict"]).toBe("BLOCK");
    const twice = from("agent://test/connect", {}, { "x-client-agent": "agent://a/b,agent://c/d" });
    expect((await client.check(twice, { metadata: operator() })).httpStatus).toBe(400);
    const without = from("agent://test/connect");
    expect((await client.check(without, { metadata: operator() })).httpStatus).toBe(400);
    client.close();
    await other.close(1000);
  });
});

describe("no verdict", () => {
  it.each([
    ["without a name", ""],
    ["with a subject for a name", "CN=shop"],
    ["with half a name", "agent://shop"],
    ["with a trust domain alone", "spiffe://acme.example"],
  ])("for a client %s: a denial, whatever Envoy does on failures", async (_, principal) => {
    const answer = await ask(principal);
    expect([answer.callCode, answer.code, answer.httpStatus]).toEqual([0, 3, 400]);
    expect(JSON.parse(answer.body)).toMatchObject({
      code: "invalid_request",
      status: 400,
      errors: [{ pointer: "/agent_id" }],
    });
    expect(answer.headers["x-request-id"]).toBe(JSON.parse(answer.body).request_id);
  });

  it("for Envoy itself without a key, with a wrong one or two, or one without the scope", async () => {
    const key = await service.makeKey(["outcomes:write"]);
    const given = [undefined, "Bearer tr_live_no", `Bearer ${service.key}, Bearer ${service.key}`];
    for (const authorization of given) {
      const metadata = authorization === undefined ? {} : { authorization };
      const answer = await envoy.check(from("agent://test/connect"), { metadata });
      expect([answer.callCode, answer.headers]).toEqual([16, {}]);
      expect(answer.details).toMatch(/^unauthenticated: .* \(request [0-9a-f-]{36}\)$/);
    }
    const metadata = { ...operator(), authorization: `Bearer ${key}` };
    expect((await envoy.check(from("agent://test/connect"), { metadata })).callCode).toBe(7);
  });

  it("for a question that is none, or too large; the next one is answered", async () => {
    const bytes = Buffer.from("0aff", "hex");
    expect((await envoy.check({}, { metadata: operator(), bytes })).callCode).toBe(13);
    const large = from("agent://test/connect", {}, { a: "x".repeat(256 * 1024) });
    expect((await envoy.check(large, { metadata: operator() })).callCode).toBe(8);
    expect((await envoy.check({}, { metadata: operator() })).httpStatus).toBe(400);
    expect((await ask("agent://test/connect")).code).toBe(0);
  });

  it("over another protocol; the next one is answered", async () => {
    const socket = net.connect(grpc.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await new Promise((resolve) => socket.resume().once("close", resolve));
    expect((await ask("agent://test/connect")).code).toBe(0);
  });

  it("when a defect shows; its details stay in the log", async () => {
    const answer = await ask("agent://test/broken");
    expect([answer.callCode, answer.details.includes("secret")]).toEqual([13, false]);
  });

  it("beyond the key's rate", async () => {
    const limited = await openTestServer("node", {
      rateLimits: { score: { perSecond: 1, burst: 1 } },
    });
    const { server } = limited;
    const other = await listenExtAuthz({
      ...PLACE,
      source: CALLER_BY_PRINCIPAL,
      ask: server.ask.bind(server),
    });
    const client = connect(other.port);
    const metadata = { ...operator(), authorization: `Bearer ${limited.key}` };
    const codes = [];
    for (let asked = 0; asked < 2; asked += 1) {
      codes.push((await client.check(from("agent://test/connect"), { metadata })).callCode);
    }
    expect(codes).toEqual([0, 8]);
    client.close();
    await other.close(1000);
    await limited.stop();
  });

  it.each([
    ["overloaded", 14],
    ["draining", 14],
    ["deadline_exceeded", 4],
    ["internal", 13],
  ] as const)("%s is the call's status %i", (code, expected) => {
    const names = { requestId: "r", echoedId: "r" };
    const answer = buildCheckAnswer(buildFaultReply(new ServiceFault(code, "no"), "/", names));
    expect(answer).toEqual({ failure: { code: expected, details: `${code}: no (request r)` } });
  });

  it("within Envoy's deadline, which the service is told", async () => {
    const asked = { request: {}, metadata: () => [] };
    const told = (remainingMs: number) =>
      buildRequestHead({ ...asked, remainingMs }, CALLER_BY_PRINCIPAL).deadlineMs;
    expect([told(99.7), told(-3), told(1e9)]).toEqual(["99", "0", "9999999"]);
    const request = from("agent://test/never");
    const answer = await envoy.check(request, { metadata: operator(), deadlineMs: 100 });
    expect(answer.callCode).toBe(4);
  });
});
