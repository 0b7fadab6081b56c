// Faults of a caller, over both adapters: each with its status, code and pointer, reported as a
// problem that names the request and nothing secret.
import { describe, expect, it } from "vitest";
import { SCOPES } from "../../src/contract/vocabulary.ts";
import { ROUTES } from "../../src/http/routes/table.ts";
import { call, type CallOptions, problemIn } from "./_client.ts";
import { describeServers } from "./_servers.ts";
import {
  CHECK_BODY,
  HANDSHAKE_BODY,
  OUTCOME_BODY,
  type TestServer,
  VERIFY_BODY,
} from "./_setup.ts";

const SAMPLES: Readonly<Record<string, object>> = {
  "/v1/trust/verify": VERIFY_BODY,
  "/v1/check": CHECK_BODY,
  "/v1/handshake": HANDSHAKE_BODY,
  "/v1/outcomes": OUTCOME_BODY,
};

describeServers("bad input", (service) => {
  const refused = async (path: string, options: CallOptions) => {
    const answer = await call(service, path, options);
    const problem = problemIn(answer);
    const { status, code } = problem;
    return { status, code, errors: problem.errors ?? [], problem, answer };
  };

  describe.each(Object.entries(SAMPLES))("%s", (path, sample) => {
    const members = Object.keys(sample).filter((member) => member !== "context");

    it.each(members)("without %s", async (member) => {
      const body: Record<string, unknown> = { ...sample };
      delete body[member];
      const { status, code, errors } = await refused(path, { body });
      expect([status, code]).toEqual([400, "invalid_request"]);
      expect(errors).toMatchObject([{ pointer: `/${member}`, code: "required" }]);
    });

    it.each(members)("with %s of the wrong type", async (member) => {
      for (const value of [null, [], {}, true]) {
        const { status, errors } = await refused(path, { body: { ...sample, [member]: value } });
        expect(status).toBe(400);
        expect(errors).toMatchObject([{ pointer: `/${member}`, code: "type" }]);
      }
    });

    it.each(members)("with %s twice, once escaped", async (member) => {
      const text = JSON.stringify(sample);
      const escaped = `\\u${member.charCodeAt(0).toString(16).padStart(4, "0")}${member.slice(1)}`;
      for (const again of [member, escaped]) {
        const bytes = `{"${again}":0,${text.slice(1)}`;
        const { status, code, errors } = await refused(path, { bytes });
        expect([status, code]).toEqual([400, "invalid_request"]);
        expect(errors).toMatchObject([{ pointer: `/${member}`, code: "duplicate" }]);
      }
    });

    it("that is not JSON, cut, empty, not UTF-8, nested deep or no object", async () => {
      const text = JSON.stringify(sample);
      const rows: [CallOptions["bytes"], string][] = [
        ["", "malformed_body"],
        ["{", "malformed_body"],
        [text.slice(0, -1), "malformed_body"],
        [`${text} x`, "malformed_body"],
        [new Uint8Array(Buffer.concat([Buffer.from(text), Buffer.from([0xff])])), "malformed_body"],
        [`{"a":${"[".repeat(200)}${"]".repeat(200)}}`, "malformed_body"],
        ["[]", "invalid_request"],
        ["null", "invalid_request"],
        ['"text"', "invalid_request"],
      ];
      for (const [bytes, expected] of rows) {
        const { status, code, problem } = await refused(path, { bytes: bytes!, method: "POST" });
        expect([status, code]).toEqual([400, expected]);
        expect(problem.detail).not.toMatch(/[A-Z]\w+Error|undefined|at \//);
      }
    });

    it("larger than the route takes", async () => {
      const limit = path === "/v1/outcomes" ? 4 * 1024 : 64 * 1024;
      const padded = { ...sample, padding: "" };
      const room_ = limit - Buffer.byteLength(JSON.stringify(padded));
      const fits = await call(service, path, { body: { ...sample, padding: "x".repeat(room_) } });
      expect(fits.status).toBeLessThan(300);
      const tooLarge = { ...sample, padding: "x".repeat(room_ + 1) };
      const { status, code } = await refused(path, { body: tooLarge });
      expect([status, code]).toEqual([413, "body_too_large"]);
    });

    it("of another media type, or wanting one", async () => {
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
      ]) {
        const headers = { "content-type": type };
        const { status, code } = await refused(path, { body: sample, headers });
        expect([status, code]).toEqual([415, "unsupported_media_type"]);
      }
      for (const encoding of ["gzip", "br", "identity, gzip", "x"]) {
        const headers = { "content-encoding": encoding };
        const { status, code } = await refused(path, { body: sample, headers });
        expect([status, code]).toEqual([415, "unsupported_media_type"]);
      }
      const plain = { body: sample, headers: { "content-encoding": "Identity" } };
      expect((await call(service, path, plain)).status).toBeLessThan(300);
      for (const accept of ["text/html", "application/json;q=0", "image/*"]) {
        const { status, code } = await refused(path, { body: sample, headers: { accept } });
        expect([status, code]).toEqual([406, "not_acceptable"]);
      }
    });

    it("by another method", async () => {
      const methods = ROUTES.filter((each) => each.path === path).map((each) => each.method);
      const allowed = methods.flatMap((each) => (each === "GET" ? ["GET", "HEAD"] : [each]));
      for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"] as const) {
        if (allowed.some((each) => each === method)) continue;
        const { status, code, answer } = await refused(path, { method });
        expect([status, code]).toEqual([405, "method_not_allowed"]);
        expect(answer.headers.get("allow")?.split(", ").toSorted()).toEqual(allowed.toSorted());
      }
    });

    it("takes unknown members, charset utf-8 and reasonable Accept headers", async () => {
      const accepts = ["*/*", "application/*", "text/html, application/json;q=0.5", ""];
      for (const accept of accepts) {
        const answer = await call(service, path, {
          body: { ...sample, from_the_future: { a: 1 } },
          headers: { accept, "content-type": "Application/JSON; charset=UTF-8" },
        });
        expect(answer.status).toBeLessThan(300);
      }
    });
  });

  it.each([
    ["/v1/check", { ...CHECK_BODY, stakes: -1 }, "/stakes", "range"],
    ["/v1/handshake", { ...HANDSHAKE_BODY, stakes: 1e13 }, "/stakes", "range"],
    ["/v1/trust/verify", { ...VERIFY_BODY, tool_level: "L9" }, "/tool_level", "enum"],
    ["/v1/outcomes", { ...OUTCOME_BODY, outcome: 2 }, "/outcome", "enum"],
    ["/v1/outcomes", { ...OUTCOME_BODY, grade: "rumour" }, "/grade", "enum"],
  ])("%s points at the member out of range", async (path, body, pointer, code) => {
    const { errors } = await refused(path, { body });
    expect(errors).toMatchObject([{ pointer, code }]);
  });

  it.each(["1e400", "-1e400", "1e309"])("refuses the number %s", async (text) => {
    const bytes = JSON.stringify(CHECK_BODY).replace("250", text);
    const { code, errors } = await refused("/v1/check", { bytes });
    expect(code).toBe("invalid_request");
    expect(errors).toMatchObject([{ pointer: "/stakes", code: "range" }]);
  });

  it("refuses unknown members on the operators' routes", async () => {
    const body = { tenant: "x", scopes: ["admin"], expires: 5 };
    const { errors } = await refused("/v1/keys", { key: service.admin, body });
    expect(errors).toMatchObject([{ pointer: "/expires", code: "unknown" }]);
  });

  it("keeps a refusal's detail on one line, whatever the member is called", async () => {
    const body = { tenant: "x", scopes: ["admin"], "a\nb\u2028c": 5 };
    const { errors, problem } = await refused("/v1/keys", { key: service.admin, body });
    expect(errors).toMatchObject([{ pointer: "/a\nb\u2028c", code: "unknown" }]);
    expect(problem.detail).toContain("a?b?c");
  });

  it("does not know other paths, however spelt", async () => {
    const paths = [
      "//",
      "/v1",
      "/v1/check/",
      "/v1//check",
      "/V1/check",
      "/v1/chec%6b",
      "/v1/agents/",
    ];
    for (const path of [...paths, "/v1/trust/../check", "/healthz/", "/v1/keys/"]) {
      const answer = await fetchRaw(service, path);
      expect([path, answer]).toEqual([path, 404]);
    }
  });

  it("refuses a bad deadline, an impossible one, and a bad idempotency key", async () => {
    const deadline = { headers: { "x-deadline-ms": "soon" }, body: CHECK_BODY };
    expect((await refused("/v1/check", deadline)).code).toBe("invalid_parameter");
    const none = { headers: { "x-deadline-ms": "0" }, body: CHECK_BODY };
    const late = await refused("/v1/check", none);
    expect([late.status, late.code]).toEqual([503, "deadline_exceeded"]);
    expect(late.answer.headers.get("retry-after")).toBe("1");
    const plenty = { headers: { "x-deadline-ms": "100" }, body: CHECK_BODY };
    expect((await call(service, "/v1/check", plenty)).status).toBe(200);
    const key = { headers: { "idempotency-key": "has space" }, body: OUTCOME_BODY };
    expect((await refused("/v1/outcomes", key)).code).toBe("invalid_parameter");
  });

  it("keeps a defect's details to the log", async () => {
    const body = { ...VERIFY_BODY, agent_id: "agent://test/broken" };
    const { status, code, answer } = await refused("/v1/trust/verify", { body });
    expect([status, code]).toEqual([500, "internal"]);
    expect(answer.text).not.toContain("secret detail");
    expect(JSON.stringify(service.logged.at(-1))).toContain("secret detail");
    expect((await call(service, "/v1/check", { body: CHECK_BODY })).status).toBe(200);
  });

  describe("keys and scopes", () => {
    const bad: [string, (service: TestServer) => Record<string, string>][] = [
      ["no header", () => ({})],
      ["another scheme", (r) => ({ authorization: `Basic ${r.key}` })],
      ["no scheme", (r) => ({ authorization: r.key })],
      ["an empty token", () => ({ authorization: "Bearer " })],
      ["a mistyped key", (r) => ({ authorization: `Bearer ${r.key.slice(0, -1)}!` })],
      ["a changed secret", (r) => ({ authorization: `Bearer ${flip(r.key, 25)}` })],
      ["a changed checksum", (r) => ({ authorization: `Bearer ${flip(r.key, r.key.length - 1)}` })],
      ["a longer key", (r) => ({ authorization: `Bearer ${r.key}x` })],
      ["two keys", (r) => ({ authorization: `Bearer ${r.key} ${r.key}` })],
      ["a changed admin key", (r) => ({ authorization: `Bearer ${r.admin}x` })],
    ];

    it.each(bad)("refuses %s", async (_name, headers) => {
      const options = { key: null, headers: headers(service), body: CHECK_BODY };
      const { status, code, answer } = await refused("/v1/check", options);
      expect([status, code]).toEqual([401, "unauthenticated"]);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(answer.text).not.toContain(service.key.slice(20, 50));
    });

    it("takes the scheme in any case", async () => {
      const headers = { authorization: `bearer  ${service.key}` };
      const answer = await call(service, "/v1/check", { key: null, headers, body: CHECK_BODY });
      expect(answer.status).toBe(200);
    });

    it("refuses a compressed body on every route that takes one", async () => {
      const taking = ROUTES.filter(({ body }) => body !== undefined);
      expect(taking.length).toBeGreaterThan(35);
      for (const { method, path: pattern, name } of taking) {
        const path = pattern.replace("{id}", "x");
        const headers = { "content-encoding": "gzip" };
        const { status } = await call(service, path, { method, bytes: "{}", headers });
        expect([name, status]).toEqual([name, 415]);
      }
    });

    it("refuses an expired key", async () => {
      const key = await service.makeKey(["score:read"], {
        expiresAtMs: service.clock.nowMs + 1000,
      });
      expect((await call(service, "/v1/check", { key, body: CHECK_BODY })).status).toBe(200);
      service.clock.nowMs += 1000;
      expect((await call(service, "/v1/check", { key, body: CHECK_BODY })).status).toBe(401);
    });

    it("holds every route to its scope, and `admin` to none", async () => {
      const keys = await Promise.all(SCOPES.map((scope) => service.makeKey([scope])));
      for (const route of ROUTES) {
        // The console asks for a session, not for a key: see session.test.ts.
        if (route.path.startsWith("/console")) continue;
        const path = route.path.replace("{id}", "x");
        const options = { method: route.method, ...(route.body && { bytes: "not json" }) };
        const open = route.access === "none" || route.access === "key";
        for (const [index, scope] of SCOPES.entries()) {
          const { status } = await call(service, path, { ...options, key: keys[index]! });
          const isHeld = open || scope === "admin" || scope === route.access;
          expect([route.name, scope, status === 403]).toEqual([route.name, scope, !isHeld]);
        }
        const { status } = await call(service, path, { ...options, key: null });
        expect([route.name, status === 401]).toEqual([route.name, route.access !== "none"]);
      }
    });
  });
});

function flip(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === "a" ? "b" : "a") + text.slice(at + 1);
}

/** `fetch` would normalise the path. */
async function fetchRaw(service: TestServer, path: string): Promise<number> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${service.key}` };
    const sent = request(
      { host: "127.0.0.1", port: service.server.port, path, headers },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}
