// Words that a caller is told who is turned away, on both servers, and who is not: probes, callers with
// few requests, reports. Each look at the clock finds it a millisecond later: many requests are a long round.
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import {
  describeAdapters,
  openTestServer,
  sendRaw,
  statusesOf,
  type TestServer,
} from "./_setup.ts";
import { UUID_V7 } from "./_servers.ts";

const FLOOD = 400;
/** Ends a flood; its reply names it. */
const LAST = "GET /livez HTTP/1.1\r\nHost: x\r\nX-Request-Id: the-last\r\n\r\n";
const THE_LAST = /the-last[^]*\r\n\r\n/;
const body = JSON.stringify({
  agent_id: "agent://a/b",
  action: "x.y",
  tool_level: "L1",
  context: {},
});

describeAdapters("a queue that is too long", (adapter) => {
  let service: TestServer;
  beforeAll(async () => {
    let nowMs = 0;
    const monotonic = () => ++nowMs;
    service = await openTestServer(adapter, { queueMsMax: 25, monotonic, cpuMs: monotonic });
  });
  /** Enough requests in each round, until it is busy. */
  beforeEach(async () => {
    while (told("requests are turned away") === 0) await flood(requestOf(service.key));
  });
  afterAll(() => service.stop());
  const told = (part: string) =>
    service.logged.filter(({ message }) => message.includes(part)).length;
  const requestOf = (key: string, path = "/v1/trust/verify") =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

  it("is answered 503 with when to come again, an id and a code", async () => {
    const text = await flood(requestOf(service.key));
    const refusals = text.split("HTTP/1.1 ").filter((reply) => reply.startsWith("503"));
    expect(refusals.length).toBeGreaterThan(FLOOD / 2);
    const [head = "", problem = ""] = refusals[0]!.split("\r\n\r\n");
    const headerOf = (name: string) =>
      new RegExp(`^${name}: (.*)$`, "im").exec(head)?.[1]?.replace("\r", "");
    expect(headerOf("retry-after")).toBe("1");
    expect(headerOf("content-type")).toBe("application/problem+json");
    expect(headerOf("x-request-id")).toMatch(UUID_V7);
    expect(JSON.parse(problem)).toEqual({
      type: "urn:trustrank:problem:overloaded",
      title: "the service is saturated",
      status: 503,
      detail: "the queue is too long",
      instance: "/v1/trust/verify",
      code: "overloaded",
      request_id: headerOf("x-request-id"),
    });
    expect(
      await flood(requestOf(service.key).replace("Host: x", "Host: x\r\nX-Request-Id: mine")),
    ).toMatch(/503[^]*x-request-id: mine\r/i);
    const ids = new Set(text.match(/(?<=x-request-id: ).*(?=\r)/gi));
    expect(ids.size).toBe(FLOOD + 1);
  });

  it("is answered in the order asked, each once, and the connection lives on", async () => {
    const text = await flood(requestOf(service.key) + "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(2 * FLOOD + 1);
    expect(text.match(/HTTP\/1\.1 503/g)!.length).toBeLessThan(FLOOD);
    expect(
      text.split("HTTP/1.1 ").filter((reply) => reply.startsWith("200 OK")).length,
    ).toBeGreaterThan(FLOOD);
  });

  it("is counted under its route and its code", async () => {
    await flood(requestOf(service.key));
    const { text } = await service.server.scrape(undefined);
    expect(text).toMatch(/http_requests_total\{[^}]*verify[^}]*503[^}]*\} [1-9]/);
    expect(text).toMatch(/faults_total\{[^}]*overloaded[^}]*\} [1-9]/);
  });

  it("does not keep another caller out, whatever the flood", async () => {
    const other = await service.makeKey(["score:read"]);
    // On one connection, so that it comes at the end of the same round.
    const text = await flood(requestOf(service.key), requestOf(other) + LAST);
    expect(statusesOf(text).slice(-3)).toEqual([503, 200, 200]);
  });

  it("is no reason to turn reports away", async () => {
    const text = await flood(requestOf(service.key) + requestOf(service.key, "/v1/outcomes"));
    const statuses = statusesOf(text);
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(FLOOD / 2);
    // An outcome that is none: read, and refused for what it is.
    expect(statuses.filter((status) => status === 400)).toHaveLength(FLOOD);
  });

  it("still refuses what is framed in two ways", async () => {
    const twoLengths = requestOf(service.key).replace(
      "Host: x",
      "Host: x\r\nTransfer-Encoding: chunked",
    );
    const text = await flood(requestOf(service.key), twoLengths, "closed");
    expect(text).toMatch(/HTTP\/1\.1 400/);
  });

  async function flood(request: string, last = LAST, until: RegExp | "closed" = THE_LAST) {
    const bytes = request.repeat(FLOOD) + last;
    return (await sendRaw(service.server.port, [bytes], { until })).text;
  }
});
