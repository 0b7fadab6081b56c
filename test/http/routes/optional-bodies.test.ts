// A POST whose message has no required member is the same request without a body, with an empty one
// and with `{}`; every other POST still needs its length and its media type. Over the whole route
// table and both servers, with raw sockets: clients add headers of their own.
import http from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildOpenApiDocument } from "../../../src/http/openapi/document.ts";
import { ROUTES } from "../../../src/http/routes/table.ts";
import {
  ADAPTERS,
  ADMIN_SECRET,
  openTestServer,
  sendRaw,
  statusesOf,
  type TestServer,
  VERIFY_BODY,
} from "../_setup.ts";

const POSTS = ROUTES.filter(({ method }) => method === "POST");

/** What a route's document says of its body: independent of what the server goes by. */
const documented = buildOpenApiDocument(POSTS, "test")["paths"] as Record<
  string,
  { post: { requestBody?: { required: boolean } } }
>;
const isBodyNeeded = (path: string) => documented[path]!.post.requestBody?.required === true;

const optional = POSTS.filter(({ path }) => !isBodyNeeded(path));
const needed = POSTS.filter(({ path }) => isBodyNeeded(path));

type Headers = Readonly<Record<string, string>>;
const JSON_TYPE = { "content-type": "application/json" };

/** Ways to send nothing. */
const EMPTY_BODIES: Readonly<Record<string, Headers>> = {
  "no length, no type": {},
  "no length, JSON": JSON_TYPE,
  "length 0, no type": { "content-length": "0" },
  "length 0, JSON": { "content-length": "0", ...JSON_TYPE },
  "length 0, MessagePack": { "content-length": "0", "content-type": "application/msgpack" },
  "length 0, a form, as curl -d ''": {
    "content-length": "0",
    "content-type": "application/x-www-form-urlencoded",
  },
};

interface Reply {
  readonly status: number | undefined;
  readonly code: unknown;
  readonly isClosing: boolean;
}

describe.each(ADAPTERS)("bodies that may be left out (%s)", (adapter) => {
  let service: TestServer;
  beforeAll(async () => {
    service = await openTestServer(adapter);
  });
  afterAll(() => service.stop());

  /** Sends exactly these headers beside host and key. */
  function post(route: string, headers: Headers, body = ""): Promise<Reply> {
    const { port } = service.server;
    const target = { host: "127.0.0.1", port, method: "POST", path: route, agent: false };
    return new Promise((resolve, reject) => {
      const request = http.request({
        ...target,
        headers: { authorization: `Bearer ${ADMIN_SECRET}`, connection: "keep-alive", ...headers },
      });
      request.on("error", reject);
      request.on("response", (response) => {
        let text = "";
        response.on("data", (piece: Buffer) => (text += piece.toString()));
        response.on("end", () => {
          const code = /"code":"(\w+)"/.exec(text)?.[1];
          const isClosing = response.headers.connection === "close";
          resolve({ status: response.statusCode, code, isClosing });
        });
      });
      if (!("content-length" in headers)) request.removeHeader("content-length");
      request.removeHeader("transfer-encoding");
      request.end(body);
    });
  }
  const withoutParameter = (path: string) =>
    path.replace("{namespace}", "acme").replace(/\{\w+\}/, "agent%3A%2F%2Facme%2Fbuyer");

  it.each(optional.map(({ path }) => withoutParameter(path)))("POST %s", async (path) => {
    const given = await post(path, { "content-length": "2", ...JSON_TYPE }, "{}");
    for (const [name, headers] of Object.entries(EMPTY_BODIES)) {
      const { isClosing, ...reply } = await post(path, headers);
      expect({ name, ...reply }).toEqual({ name, status: given.status, code: given.code });
      expect({ name, isClosing }).toEqual({ name, isClosing: !("content-length" in headers) });
    }
  });

  it.each(needed.map(({ path }) => withoutParameter(path)))("POST %s needs one", async (path) => {
    const sent = Object.entries(EMPTY_BODIES).map(([name, headers]) => [name, headers] as const);
    for (const [name, headers] of sent) {
      const { status, code } = await post(path, headers);
      expect(status, name).toBeGreaterThanOrEqual(400);
      if (!("content-length" in headers))
        expect({ name, code }).toEqual({ name, code: "length_required" });
    }
    const untyped = await post(path, { "content-length": "2" }, "{}");
    expect(untyped).toMatchObject({ status: 415, code: "unsupported_media_type" });
  });

  it("asks PUT and PATCH for their bodies as before", async () => {
    // Without a length their body is empty, which is no document.
    // Webhooks are not served here and the console wants its session: both refuse before they read.
    const routes = ROUTES.filter(
      ({ method, path, body }) =>
        /PUT|PATCH/.test(method) && body !== undefined && !/webhooks|console/.test(path),
    );
    expect(routes.length).toBeGreaterThan(3);
    for (const { method, path } of routes) {
      const response = await fetch(service.base + withoutParameter(path), {
        method,
        headers: { authorization: `Bearer ${ADMIN_SECRET}` },
      });
      expect([method, path, response.status]).toEqual([method, path, 415]);
    }
  });

  const emptyRun = (lines: string[], version = "1.1") =>
    [
      `POST /v1/kaizen/run HTTP/${version}`,
      "Host: localhost",
      `Authorization: Bearer ${ADMIN_SECRET}`,
      ...lines,
      "",
      "",
    ].join("\r\n");

  it("never runs what follows a request without a length", async () => {
    const body = JSON.stringify(VERIFY_BODY);
    const hidden =
      `POST /v1/trust/verify HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${service.key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    for (const pieces of [[emptyRun([]) + hidden], [emptyRun([]), hidden]]) {
      const { text, isClosed } = await sendRaw(service.server.port, pieces);
      // The native server hangs up on a second request in the same segment.
      expect([[404], adapter === "uws" ? [] : [404]]).toContainEqual(statusesOf(text));
      expect(isClosed).toBe(true);
    }
    expect(service.bureau.calls.verify).toBe(0);
  });

  it("refuses a coding even where it would carry nothing", async () => {
    const chunked = emptyRun(["Transfer-Encoding: chunked"]) + "0\r\n\r\n";
    const { text, isClosed } = await sendRaw(service.server.port, [chunked]);
    expect([statusesOf(text), isClosed]).toEqual([[400], true]);
  });

  it("checks the key before it says what is missing", async () => {
    const { status } = await fetch(`${service.base}/v1/kaizen/run`, { method: "POST" });
    expect(status).toBe(401);
  });
});
