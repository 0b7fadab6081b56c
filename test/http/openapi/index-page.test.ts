// The page at `/`: what a person or a program finds who has only the address of the service.
import http from "node:http";
import { expect, it } from "vitest";
import { Console, type ConsoleOptions } from "../../../src/http/console/console.ts";
import { call } from "../_client.ts";
import { describeServers } from "../_servers.ts";
import { openTestServer } from "../_setup.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

describeServers("GET /", (service) => {
  it("is a page for people, without a key, whose links lead somewhere", async () => {
    const headers = { accept: BROWSER };
    const answer = await call(service, "/", { key: null, headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src/);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const links = [...answer.text.matchAll(/ href="([^"]+)"/g)].map(([, link]) => link!);
    expect(links.toSorted()).toEqual(
      ["console", "docs", "docs/style.css", "openapi.json", "readyz"].toSorted(),
    );
    for (const link of links) {
      expect((await call(service, `/${link}`, { key: null, headers })).status, link).toBe(200);
    }
  });

  it("is data for programs, whatever else they accept", async () => {
    for (const accept of ["*/*", "application/json", "application/json, text/html;q=0.5", "a/b"]) {
      const answer = await call(service, "/", { key: null, headers: { accept } });
      expect([accept, answer.status]).toEqual([accept, 200]);
      expect(answer.json).toEqual({
        name: "TrustRank",
        version: expect.any(String),
        links: {
          console: "/console",
          docs: "/docs",
          openapi: "/openapi.json",
          readyz: "/readyz",
        },
      });
    }
  });

  it("has nothing of the installation, and takes nothing but a read", async () => {
    const { text } = await call(service, "/", { key: null, headers: { accept: BROWSER } });
    expect(text).not.toContain(service.admin);
    expect(text).not.toMatch(/tr_live_|\/tmp\//);
    const posted = await call(service, "/", { key: null, body: {} });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

it.each<[string, Partial<ConsoleOptions>, string, boolean]>([
  ["is off", { mode: "off" }, "127.0.0.1", false],
  ["is not served under this host", {}, "trust.example.com", false],
  ["is served here", {}, "localhost:8080", true],
])("names the console only where it opens: it %s", async (_, changes, host, isNamed) => {
  const other = await openTestServer("node");
  await other.stop();
  const parts = { keyring: other.keyring, clock: () => 0, randomBytes: () => Buffer.alloc(32) };
  const options: ConsoleOptions = {
    mode: "loopback",
    hosts: [],
    isBoundToLoopback: true,
    isInsecure: false,
    unitOfAccount: "unit",
    ...changes,
  };
  const server = await openTestServer("node", { console: new Console(options, parts) });
  const text = await new Promise<string>((resolve, reject) => {
    const request = http.get(`${server.base}/`, { headers: { host } }, (response) => {
      let received = "";
      response.on("data", (piece) => (received += piece));
      response.on("end", () => resolve(received));
    });
    request.on("error", reject);
  });
  await server.stop();
  expect("console" in JSON.parse(text).links).toBe(isNamed);
});
