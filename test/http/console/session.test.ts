// The console's door over both servers: who gets in, for how long, and every way in that must stay shut.
import http from "node:http";
import { describe, expect, it } from "vitest";
import { Console, type ConsoleOptions } from "../../../src/http/console/console.ts";
import {
  LOGIN_LINK_LIFE_MS,
  SESSION_IDLE_MS,
  SESSION_MS_MAX,
} from "../../../src/http/console/sessions.ts";
import { INSTALLED_KEY_ID } from "../../../src/http/access/key-holder.ts";
import { describeServers } from "../_servers.ts";
import { openTestServer, type TestServer } from "../_setup.ts";

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

/** A browser's `fetch` forbids most of these headers; a program's request does not. */
function ask(
  base: string,
  method: string,
  path: string,
  headers: Headers = {},
  body?: unknown,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? "" : JSON.stringify(body);
    const length = method === "GET" ? {} : { "content-length": Buffer.byteLength(text) };
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const request = http.request(base + path, {
      method,
      headers: { ...length, ...type, ...headers },
    });
    request.on("error", reject);
    request.on("response", (response) => {
      let received = "";
      response.on("data", (piece) => (received += piece));
      response.on("end", () =>
        resolve({ status: response.statusCode!, headers: response.headers, text: received }),
      );
    });
    request.end(text);
  });
}

const OWN: Headers = { "sec-fetch-site": "same-origin" };
const LIST = "/console/api/v1/keys";
const codeOf = ({ text }: Answer) => (JSON.parse(text) as { code: string }).code;

interface Open {
  readonly cookie: string;
  readonly csrf: string;
}

async function logIn({ base, admin }: TestServer, key = admin, headers: Headers = OWN) {
  const answer = await ask(base, "POST", "/console/session", headers, { key });
  if (answer.status !== 200) throw new Error(answer.text);
  const cookie = answer.headers["set-cookie"]![0]!.split(";")[0]!;
  return { cookie, csrf: (JSON.parse(answer.text) as Open).csrf };
}

const as = ({ cookie }: Open): Headers => ({ ...OWN, cookie });

describeServers("the console's session", (service) => {
  it("opens by a key and asks the API as that key, without a key of its own", async () => {
    const { base, console } = service;
    const open = await logIn(service);
    const listed = await ask(base, "GET", LIST, as(open));
    expect(listed.status).toBe(200);
    expect(listed.text).toContain("key_id");
    const session = await ask(base, "GET", "/console/session", as(open));
    expect(JSON.parse(session.text)).toMatchObject({ csrf: open.csrf, unit_of_account: "EUR" });
    // The cookie opens nothing elsewhere.
    expect((await ask(base, "GET", "/v1/keys", as(open))).status).toBe(401);
    // Whoever has no session is not refused anything: the page asks before it shows the login.
    expect((await ask(base, "GET", "/console/session", OWN)).status).toBe(204);
    expect(JSON.stringify(console)).not.toContain(service.admin);
  });

  it("sends the cookie so that neither scripts nor other sites get it", async () => {
    const answer = await ask(service.base, "POST", "/console/session", OWN, { key: service.admin });
    const [cookie] = answer.headers["set-cookie"]!;
    expect(cookie).toMatch(
      /^__Host-tr_session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict/,
    );
  });

  it("answers alike to every wrong key, and a key without a fitting scope is told so", async () => {
    const { base } = service;
    for (const key of ["nonsense", "tr_live_0123456789_wrong", `${service.admin}x`]) {
      const answer = await ask(base, "POST", "/console/session", OWN, { key });
      expect([answer.status, codeOf(answer)]).toEqual([401, "unauthenticated"]);
    }
    const score = await service.makeKey(["score:read"]);
    const answer = await ask(base, "POST", "/console/session", OWN, { key: score });
    expect(codeOf(answer)).toBe("insufficient_scope");
    expect(answer.headers["set-cookie"]).toBeUndefined();
    service.clock.nowMs += 60_000;
  });

  it("locks nobody out after wrong logins: behind a proxy all come from one address", async () => {
    const { base } = service;
    for (let tries = 0; tries < 20; tries++) {
      const wrong = await ask(base, "POST", "/console/session", OWN, { key: "wrong" });
      expect(wrong.status).toBe(401);
    }
    await logIn(service);
  });

  it("ends when idle, when old, by logging out, and forgets the cookie then", async () => {
    const { base, clock } = service;
    const idle = await logIn(service);
    clock.nowMs += SESSION_IDLE_MS - 1;
    expect((await ask(base, "GET", LIST, as(idle))).status).toBe(200);
    clock.nowMs += SESSION_IDLE_MS;
    expect((await ask(base, "GET", LIST, as(idle))).status).toBe(401);
    const left = await logIn(service);
    const byItself = { ...as(left), "x-tr-background": "true" };
    clock.nowMs += SESSION_IDLE_MS - 1;
    expect((await ask(base, "GET", LIST, byItself)).status).toBe(200);
    clock.nowMs += 1;
    expect((await ask(base, "GET", LIST, byItself)).status).toBe(401);
    const old = await logIn(service);
    for (let passed = 0; passed < SESSION_MS_MAX; passed += SESSION_IDLE_MS - 1) {
      await ask(base, "GET", "/console/session", as(old));
      clock.nowMs += SESSION_IDLE_MS - 1;
    }
    expect((await ask(base, "GET", LIST, as(old))).status).toBe(401);
    const open = await logIn(service);
    const out = await ask(base, "DELETE", "/console/session", {
      ...as(open),
      "x-tr-csrf": open.csrf,
    });
    expect(out.status).toBe(204);
    expect(out.headers["set-cookie"]![0]).toMatch(/^__Host-tr_session=;.*Max-Age=0/);
    expect((await ask(base, "GET", LIST, as(open))).status).toBe(401);
  });

  it("ends at once when its key is revoked or gets another secret", async () => {
    const { base, keyring } = service;
    for (const end of ["revoke", "rotate"] as const) {
      const { key, description } = await keyring.create({ tenant: "acme", scopes: ["admin"] });
      const open = await logIn(service, key);
      expect((await ask(base, "GET", LIST, as(open))).status).toBe(200);
      if (end === "revoke") await keyring.revoke(description.key_id);
      else await keyring.rotate(description.key_id, 60_000);
      expect((await ask(base, "GET", LIST, as(open))).status).toBe(401);
    }
  });

  it("never takes an id that it was offered, nor two at once", async () => {
    const { base } = service;
    const offered = `__Host-tr_session=${"A".repeat(43)}`;
    const open = await logIn(service, service.admin, { ...OWN, cookie: offered });
    expect(open.cookie).not.toBe(offered);
    expect((await ask(base, "GET", LIST, { ...OWN, cookie: offered })).status).toBe(401);
    const both = `${offered}; ${open.cookie}`;
    expect((await ask(base, "GET", LIST, { ...OWN, cookie: both })).status).toBe(401);
    // A login in place of another one ends the first.
    const second = await logIn(service, service.admin, as(open));
    expect((await ask(base, "GET", LIST, as(open))).status).toBe(401);
    expect((await ask(base, "GET", LIST, as(second))).status).toBe(200);
  });

  it("refuses whatever comes from another site, or from no page at all", async () => {
    const { base } = service;
    const open = await logIn(service);
    const { cookie } = open;
    const origin = base;
    const cases: [Headers, number][] = [
      [{ cookie, "sec-fetch-site": "cross-site" }, 403],
      [{ cookie, "sec-fetch-site": "same-site" }, 403],
      [{ cookie, "sec-fetch-site": "none" }, 403],
      [{ cookie, origin: "https://evil.example" }, 403],
      [{ cookie, origin: "null" }, 403],
      [{ cookie, "sec-fetch-site": "cross-site", origin }, 403],
      [{ cookie }, 403],
      [{ cookie, origin }, 200],
    ];
    for (const [headers, status] of cases) {
      expect([headers, (await ask(base, "GET", LIST, headers)).status]).toEqual([headers, status]);
    }
    const login = await ask(
      base,
      "POST",
      "/console/session",
      { "sec-fetch-site": "cross-site" },
      {
        key: service.admin,
      },
    );
    expect(codeOf(login)).toBe("cross_site");
  });

  it("changes nothing without the session's token, and nothing by a form", async () => {
    const { base, keyring } = service;
    const open = await logIn(service);
    const made = { tenant: "acme", scopes: ["score:read"] };
    const count = keyring.list().length;
    for (const csrf of [undefined, "", "wrong", `${open.csrf}x`, open.csrf.toUpperCase()]) {
      const headers = { ...as(open), ...(csrf === undefined ? {} : { "x-tr-csrf": csrf }) };
      expect(codeOf(await ask(base, "POST", LIST, headers, made))).toBe("cross_site");
    }
    const form = { ...as(open), "x-tr-csrf": open.csrf, "content-type": "text/plain" };
    expect((await ask(base, "POST", LIST, form, made)).status).toBe(415);
    expect(keyring.list()).toHaveLength(count);
    const headers = { ...as(open), "x-tr-csrf": open.csrf };
    expect((await ask(base, "POST", LIST, headers, made)).status).toBe(201);
    expect(keyring.list()).toHaveLength(count + 1);
  });

  it("is not there under another name for this address", async () => {
    const { base } = service;
    const open = await logIn(service);
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil.example:80",
      "[::2]",
    ]) {
      for (const path of [
        "/console",
        LIST,
        "/console/session",
        "/console/assets/x/console/main.ts",
      ]) {
        const answer = await ask(base, "GET", path, { ...as(open), host });
        expect([host, path, answer.status]).toEqual([host, path, 421]);
      }
    }
    expect((await ask(base, "GET", "/console", { host: "localhost:1234" })).status).toBe(200);
  });

  it("reaches the API and nothing of itself", async () => {
    const open = await logIn(service);
    for (const path of [
      "/console/session",
      "/console",
      "/v1/nothing",
      "/../v1/keys",
      "//v1/keys",
    ]) {
      const answer = await ask(service.base, "GET", `/console/api${path}`, as(open));
      expect([path, answer.status]).toEqual([path, 404]);
    }
  });

  it("opens by a link once, within minutes", async () => {
    const { base, console, clock } = service;
    const token = console.sessions.issueLink(INSTALLED_KEY_ID);
    const first = await ask(base, "POST", "/console/session", OWN, { token });
    expect(first.status).toBe(200);
    expect((await ask(base, "POST", "/console/session", OWN, { token })).status).toBe(401);
    const late = console.sessions.issueLink(INSTALLED_KEY_ID);
    clock.nowMs += LOGIN_LINK_LIFE_MS;
    expect((await ask(base, "POST", "/console/session", OWN, { token: late })).status).toBe(401);
    clock.nowMs += 60_001;
  });

  it("keeps 64 sessions of a key: the one idle longest makes room", async () => {
    const { base, console, clock } = service;
    const first = await logIn(service);
    for (let made = 0; made < 64; made++) {
      clock.nowMs += 1;
      console.sessions.open(INSTALLED_KEY_ID);
    }
    expect((await ask(base, "GET", LIST, as(first))).status).toBe(401);
    expect(console.sessions.size).toBeLessThanOrEqual(66);
  });
});

describe("where the console is served", () => {
  const LOOPBACK: ConsoleOptions = {
    mode: "loopback",
    hosts: ["trust.example.com"],
    isBoundToLoopback: false,
    isInsecure: false,
    unitOfAccount: "unit",
  };
  const HTTPS = { "x-forwarded-proto": "https" };

  it.each<[string, ConsoleOptions, string, Headers, number]>([
    ["off", { ...LOOPBACK, mode: "off" }, "127.0.0.1", {}, 404],
    ["a published port, by loopback's name", LOOPBACK, "127.0.0.1:8080", {}, 200],
    ["a forwarded port, by loopback's name", LOOPBACK, "localhost:9000", {}, 200],
    ["a published port, by another site's name", LOOPBACK, "127.0.0.1.evil.example", {}, 421],
    ["a published port, by the machine's address", LOOPBACK, "192.168.1.5:8080", {}, 421],
    ["a published port, by the address of all", LOOPBACK, "0.0.0.0:8080", {}, 421],
    ["a named host through TLS", LOOPBACK, "trust.example.com", HTTPS, 200],
    ["a named host with its port", LOOPBACK, "trust.example.com:443", HTTPS, 200],
    ["a named host in the clear", LOOPBACK, "trust.example.com", {}, 421],
    ["another host through TLS", LOOPBACK, "other.example.com", HTTPS, 421],
    ["on: a named host in the clear", { ...LOOPBACK, mode: "on" }, "trust.example.com", {}, 200],
    ["on: this machine", { ...LOOPBACK, mode: "on" }, "localhost:8080", {}, 200],
    ["on: a host that is not named", { ...LOOPBACK, mode: "on" }, "evil.example", {}, 421],
  ])("%s", async (_, options, host, headers, status) => {
    const other = await openTestServer("node");
    await other.stop();
    const parts = { keyring: other.keyring, clock: () => 0, randomBytes: () => Buffer.alloc(32) };
    const server = await openTestServer("node", { console: new Console(options, parts) });
    const answer = await ask(server.base, "GET", "/console", { ...headers, host });
    await server.stop();
    expect(answer.status).toBe(status);
  });
});
