// Every row of the framing rules, with raw sockets: what must be refused is refused and closed, and
// a request hidden behind it never runs. Over both adapters, so that each is the other's oracle.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  ADAPTERS,
  CHECK_BODY,
  openTestServer,
  type TestServer,
  sendRaw,
  statusesOf,
  VERIFY_BODY,
} from "../_setup.ts";

const BODY = JSON.stringify(CHECK_BODY);

describe.each(ADAPTERS)("framing (%s)", (adapter) => {
  let service: TestServer;
  /** A complete, valid request that must not run when it is smuggled. */
  let hidden: string;

  const post = (headers: readonly string[], body = BODY, path = "/v1/check") =>
    [
      `POST ${path} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${service.key}`,
      "Content-Type: application/json",
      ...headers,
      "",
      body,
    ].join("\r\n");
  const withLength = `Content-Length: ${Buffer.byteLength(BODY)}`;
  const verifyCount = () => service.bureau.calls.verify;

  beforeAll(async () => {
    service = await openTestServer(adapter);
    const body = JSON.stringify(VERIFY_BODY);
    hidden = post([`Content-Length: ${Buffer.byteLength(body)}`], body, "/v1/trust/verify");
  });
  afterAll(async () => {
    await service.stop();
  });
  beforeEach(() => {
    service.bureau.calls.verify = 0;
    service.bureau.calls.check = 0;
  });

  it("answers a plain request and keeps the connection", async () => {
    const { text, isClosed } = await sendRaw(service.server.port, [post([withLength])], {
      until: /"allowed":true,"enforced":true\}/,
    });
    expect(statusesOf(text)).toEqual([200]);
    expect(isClosed).toBe(false);
  });

  const violations: [string, () => string, number[]][] = [
    ["two different Content-Length", () => post([withLength, "Content-Length: 0"]), [400]],
    ["two equal Content-Length", () => post([withLength, withLength]), [400]],
    ["Content-Length zero first", () => post(["Content-Length: 0", withLength]), [400]],
    ["empty Content-Length", () => post(["Content-Length:"]), [400]],
    ["Content-Length with a sign", () => post(["Content-Length: +2"]), [400]],
    ["negative Content-Length", () => post(["Content-Length: -1"]), [400]],
    ["hexadecimal Content-Length", () => post(["Content-Length: 0x2"]), [400]],
    ["list as Content-Length", () => post(["Content-Length: 2, 2"]), [400]],
    ["huge Content-Length", () => post([`Content-Length: ${"9".repeat(25)}`]), [400]],
    ["eight-digit Content-Length", () => post(["Content-Length: 00000060"]), [400]],
    ["unknown transfer coding", () => post(["Transfer-Encoding: xchunked"], "0\r\n\r\n"), [400]],
    ["identity transfer coding", () => post(["Transfer-Encoding: identity"], "0\r\n\r\n"), [400]],
    ["gzip, chunked", () => post(["Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"), [400]],
    ["chunked", () => post(["Transfer-Encoding: chunked"], "0\r\n\r\n"), [400]],
    [
      "repeated transfer coding",
      () => post(["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], "0\r\n\r\n"),
      [400],
    ],
    [
      "both length and transfer coding",
      () => post([withLength, "Transfer-Encoding: chunked"]),
      [400],
    ],
    ["empty header name before the length", () => post([": v", withLength]), [400, 411]],
    ["POST without a length", () => post([]), [411]],
    ["two Hosts", () => post(["Host: other", withLength]), [400]],
    ["two Authorizations", () => post(["Authorization: Bearer x", withLength]), [400]],
    ["two Content-Types", () => post(["Content-Type: text/plain", withLength]), [400]],
    ["bare line feeds", () => post([withLength]).replaceAll("\r\n", "\n"), [400, 505]],
    ["a NUL in a header", () => post([withLength, "X-Test: a\0b"]), [400]],
    ["a space before the colon", () => post(["Content-Length : 60"]), [400, 411]],
    ["an absolute target", () => post([withLength], BODY, "http://localhost/v1/check"), [400, 505]],
  ];

  it.each(violations)("refuses %s and closes", async (_name, request, statuses) => {
    const { text, isClosed } = await sendRaw(service.server.port, [request()]);
    const [status] = statusesOf(text);
    // The native parser hangs up, or waits for more, without a word on what it cannot read at all.
    if (status === undefined) expect(adapter).toBe("uws");
    else expect(statuses).toContain(status);
    if (status !== undefined) expect(isClosed).toBe(true);
    expect(service.bureau.calls.check).toBe(0);
  });

  it.each(violations)("never runs what hides behind %s", async (_name, request) => {
    const together = await sendRaw(service.server.port, [request() + hidden]);
    expect(verifyCount()).toBe(0);
    expect(statusesOf(together.text).length).toBeLessThanOrEqual(1);
    const later = await sendRaw(service.server.port, [request(), hidden]);
    expect(verifyCount()).toBe(0);
    expect(statusesOf(later.text).length).toBeLessThanOrEqual(1);
  });

  // As docs/operate/monitoring.md says for health checks; the native parser knows HTTP/1.1 alone.
  it("answers HTTP/1.0 505 on the native server", async () => {
    for (const path of ["/livez", "/readyz"]) {
      const request = `GET ${path} HTTP/1.0\r\nHost: x\r\n\r\n`;
      const { text, isClosed } = await sendRaw(service.server.port, [request], { until: "closed" });
      const expected = adapter === "uws" ? 505 : 200;
      expect([statusesOf(text.replace(/^HTTP\/1\.0/, "HTTP/1.1")), isClosed]).toEqual([
        [expected],
        true,
      ]);
    }
  });

  it("refuses an empty or missing Host", async () => {
    for (const host of ["Host:\r\n", "Host: \r\n", "Accept: x\r\n"]) {
      const request = `GET /healthz HTTP/1.1\r\n${host}\r\n`;
      const { text, isClosed } = await sendRaw(service.server.port, [request]);
      expect([statusesOf(text), isClosed]).toEqual([[400], true]);
    }
  });

  it("refuses a body on GET, but not a length of zero", async () => {
    const get = (length: number, body: string) =>
      `GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`;
    const withBody = await sendRaw(service.server.port, [get(4, "abcd") + hidden]);
    expect(statusesOf(withBody.text).length).toBeLessThanOrEqual(1);
    expect(withBody.isClosed).toBe(true);
    expect(verifyCount()).toBe(0);
    const without = await sendRaw(service.server.port, [get(0, "")], { until: /"status"/ });
    expect(statusesOf(without.text)).toEqual([200]);
  });

  it("refuses headers beyond the limit", async () => {
    const request = post([`X-Long: ${"a".repeat(10_000)}`, withLength]);
    const { text } = await sendRaw(service.server.port, [request]);
    expect(statusesOf(text)).toEqual([431]);
    expect(service.bureau.calls.check).toBe(0);
  });

  it("takes headers below the limit", async () => {
    const request = post([`X-Long: ${"a".repeat(6000)}`, withLength]);
    const { text } = await sendRaw(service.server.port, [request], { until: /"allowed"/ });
    expect(statusesOf(text)).toEqual([200]);
  });

  it("takes a body in pieces, and its head in two", async () => {
    const request = post([withLength]);
    const cut = request.length - BODY.length;
    const pieces = [
      request.slice(0, cut - 20),
      request.slice(cut - 20, cut + 5),
      request.slice(cut + 5, cut + 30),
      request.slice(cut + 30),
    ];
    const { text } = await sendRaw(service.server.port, pieces, { until: /"allowed"/ });
    expect(statusesOf(text)).toEqual([200]);
    expect(service.bureau.calls.check).toBe(1);
    expect(service.server.inflight).toBe(0);
  });

  it("forgets a request whose client goes away in the middle of the body", async () => {
    const request = post([withLength]);
    await sendRaw(service.server.port, [request.slice(0, -10)]);
    await expect.poll(() => service.server.inflight).toBe(0);
    expect(service.bureau.calls.check).toBe(0);
  });

  it("answers `Expect: 100-continue`", async () => {
    const { text } = await sendRaw(
      service.server.port,
      [post([withLength, "Expect: 100-continue"])],
      {
        until: /"allowed"/,
      },
    );
    expect(statusesOf(text)).toEqual([100, 200]);
  });

  it("refuses a body over the limit before reading it, and closes", async () => {
    const { text, isClosed } = await sendRaw(service.server.port, [
      post(["Content-Length: 70000"], "x".repeat(1000)),
    ]);
    expect(statusesOf(text)).toEqual([413]);
    expect(text).toContain('"code":"body_too_large"');
    expect(isClosed).toBe(true);
  });

  it("reads and drops the body of a refused request, then serves the next", async () => {
    const unknown = post([withLength], BODY, "/v1/unknown");
    const { text } = await sendRaw(service.server.port, [unknown + post([withLength])], {
      until: /"allowed"/,
    });
    expect(statusesOf(text)).toEqual([404, 200]);
  });

  it("keeps the connection after HEAD, whose reply has no body", async () => {
    const head = "HEAD /v1/check HTTP/1.1\r\nHost: x\r\n\r\n";
    const pieces = [head, head, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"];
    const { text } = await sendRaw(service.server.port, pieces, { until: /"status":"ok"/ });
    expect(statusesOf(text)).toEqual([405, 405, 200]);
    expect(text).not.toContain("method_not_allowed");
  });

  it("answers pipelined requests in order", async () => {
    const count = 25;
    const requests = Array.from({ length: count }, (_, index) =>
      post([withLength, `X-Request-Id: r${index}`]),
    );
    const { text } = await sendRaw(service.server.port, [requests.join("")], {
      until: new RegExp(`x-request-id: r${count - 1}\r\n.*\\}`, "is"),
    });
    const ids = [...text.matchAll(/x-request-id: (r\d+)/gi)].map((found) => found[1]);
    expect(ids).toEqual(Array.from({ length: count }, (_, index) => `r${index}`));
  });

  it("holds the memory of slow bodies to its budget, a tenant to a part of it", async () => {
    const tight = await openTestServer(adapter, { limits: { pendingBodiesMax: 8 } });
    const { key: theirs } = await tight.keyring.create({ tenant: "other", scopes: ["score:read"] });
    const requestOf = (key: string) =>
      [
        "POST /v1/check HTTP/1.1",
        "Host: x",
        `Authorization: Bearer ${key}`,
        "Content-Type: application/json",
        withLength,
        "",
        BODY,
      ].join("\r\n");
    const request = requestOf(tight.key);
    const part = request.slice(0, -20);
    const rest = request.slice(-20);
    const { promise: refused, resolve: goOn } = Promise.withResolvers<void>();
    const slow = () => sendRaw(tight.server.port, [part, refused, rest], { until: /"allowed"/ });
    const first = [slow(), slow()];
    await expect.poll(() => tight.server.inflight).toBe(2);
    const third = await sendRaw(tight.server.port, [part]);
    // One that comes whole waits for nothing and takes no place; another tenant has its own places.
    const until = /"allowed"/;
    const whole = await sendRaw(tight.server.port, [request], { until });
    const other = requestOf(theirs);
    const pieces = [other.slice(0, -20), other.slice(-20)];
    const inPieces = await sendRaw(tight.server.port, pieces, { until });
    goOn();
    expect(statusesOf(whole.text)).toEqual([200]);
    expect(statusesOf(inPieces.text)).toEqual([200]);
    expect(statusesOf(third.text)).toEqual([503]);
    expect(third.text).toContain('"code":"overloaded"');
    for (const { text } of await Promise.all(first)) expect(statusesOf(text)).toEqual([200]);
    const after = await sendRaw(tight.server.port, pieces, { until });
    expect(statusesOf(after.text)).toEqual([200]);
    await tight.stop();
  });
});
