// One attempt over real sockets: redirects, private addresses, a name that changes its address between
// the look and the connection, a receiver that hangs or talks for ever.
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { NO_NETWORKS, parseNetworks } from "../../src/webhooks/address.ts";
import { createWebhookSender } from "../../src/webhooks/sender.ts";
import { findUrlFault } from "../../src/webhooks/target.ts";

const LOCAL = parseNetworks("127.0.0.1");
const servers: http.Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: http.RequestListener): Promise<{ port: number; hits: string[] }> {
  const hits: string[] = [];
  const server = http.createServer((request, response) => {
    hits.push(`${request.method} ${request.url} ${request.headers.host}`);
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, hits };
}

const neverAsked = () => Promise.reject(new Error("asked"));
const postWith = (more: Partial<Parameters<typeof createWebhookSender>[0]> = {}) =>
  createWebhookSender({
    allowed: LOCAL,
    resolve: neverAsked,
    userAgent: "test",
    timeoutMs: 2000,
    ...more,
  });

describe("an attempt", () => {
  it("tells a receiver, with its headers and its body", async () => {
    const heard: unknown[] = [];
    const { port } = await serve((request, response) => {
      request.on("data", (piece: Buffer) =>
        heard.push(request.headers["webhook-id"], String(piece)),
      );
      request.on("end", () => response.writeHead(202).end("thanks"));
    });
    const told = await postWith()(`http://127.0.0.1:${port}/`, { "webhook-id": "evt_1" }, "{}");
    expect(told).toMatchObject({ isDelivered: true, status: 202, detail: "" });
    expect(heard).toEqual(["evt_1", "{}"]);
  });

  it("follows no redirect", async () => {
    const { port, hits } = await serve((_request, response) => {
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    const told = await postWith()(`http://127.0.0.1:${port}/hook`, {}, "{}");
    expect(told).toMatchObject({ isDelivered: false, status: 307 });
    expect(told.detail).toContain("redirects are not followed");
    expect(hits).toEqual([`POST /hook 127.0.0.1:${port}`]);
  });

  it("goes to the address that was looked at, though the name has another by then", async () => {
    const { port, hits } = await serve((_request, response) => response.writeHead(204).end());
    const asked: string[] = [];
    // First an allowed address, for every later question one that is none.
    const resolve = (name: string) => {
      asked.push(name);
      return Promise.resolve([asked.length === 1 ? "127.0.0.1" : "169.254.169.254"]);
    };
    const post = postWith({ resolve });
    expect(await post(`http://hook.example:${port}/`, {}, "{}")).toMatchObject({ status: 204 });
    // One question for one connection: nobody asks again behind the look.
    expect(asked).toEqual(["hook.example"]);
    expect(hits).toEqual([`POST / hook.example:${port}`]);
    const told = await post(`http://hook.example:${port}/`, {}, "{}");
    expect(told).toMatchObject({ isDelivered: false, status: undefined });
    expect(told.detail).toBe("the name leads to a private address");
    expect(hits).toHaveLength(1);
  });

  it.each([
    ["one private address among public ones", ["1.1.1.1", "10.0.0.1"]],
    ["a private v4 address inside v6", ["::ffff:169.254.169.254"]],
    ["another network than the allowed one", ["127.0.0.2"]],
    ["no address", []],
  ])("is not made to %s", async (_what, addresses) => {
    const { port, hits } = await serve((_request, response) => response.writeHead(204).end());
    const post = postWith({ resolve: () => Promise.resolve(addresses) });
    const told = await post(`https://hook.example:${port}/`, {}, "{}");
    expect(told).toMatchObject({ isDelivered: false, status: undefined });
    expect(told.detail).toMatch(/private address|no address/);
    expect(hits).toEqual([]);
  });

  it("is not made by http to a public address", async () => {
    const post = postWith({ resolve: () => Promise.resolve(["1.1.1.1"]) });
    expect((await post("http://hook.example/", {}, "{}")).detail).toContain("http is for networks");
  });

  it("ends in time where a receiver or its name server hangs", async () => {
    const { port } = await serve(() => undefined);
    const slow = postWith({ timeoutMs: 150 });
    expect((await slow(`http://127.0.0.1:${port}/`, {}, "{}")).detail).toBe("no answer in time");
    const nameless = postWith({ timeoutMs: 150, resolve: () => new Promise(() => undefined) });
    expect((await nameless("https://hook.example/", {}, "{}")).detail).toBe("no answer in time");
  });

  it("reads little of an answer that never ends", async () => {
    let written = 0;
    let isClosed = false;
    const { port } = await serve((_request, response) => {
      response.writeHead(200);
      const more = () => {
        if (isClosed) return;
        written += 65_536;
        response.write(Buffer.alloc(65_536), () => setImmediate(more));
      };
      response.on("close", () => (isClosed = true));
      more();
    });
    const told = await postWith()(`http://127.0.0.1:${port}/`, {}, "{}");
    expect(told.isDelivered).toBe(true);
    await expect.poll(() => isClosed).toBe(true);
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  it("says what went wrong by its code, without an address", async () => {
    const { port } = await serve(() => undefined);
    servers[0]!.close();
    const told = await postWith()(`http://127.0.0.1:${port}/`, {}, "{}");
    expect(told.detail).toBe("no connection: ECONNREFUSED");
  });

  it("takes the receiver's word for when to come again", async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(429, { "retry-after": "90" }).end();
    });
    const told = await postWith()(`http://127.0.0.1:${port}/`, {}, "{}");
    expect(told).toMatchObject({ status: 429, retryAfterSec: 90 });
  });
});

describe("the URL of an endpoint", () => {
  const none = NO_NETWORKS;

  it.each([
    ["", none],
    ["hook.example", none],
    ["ftp://hook.example/", none],
    ["https://user:secret@hook.example/", none],
    ["https://hook.example/#part", none],
    ["https://127.0.0.1/", none],
    ["https://0x7f.1/", none],
    ["https://2130706433/", none],
    ["https://[::ffff:127.0.0.1]/", none],
    ["https://169.254.169.254/latest", none],
    ["https://localhost/", none],
    ["https://me.localhost./", none],
    ["http://1.1.1.1/", none],
    ["http://1.1.1.1/", LOCAL],
  ])("is refused: %s", (url, allowed) => {
    expect(findUrlFault(url, allowed)).toMatch(/^must /);
  });

  it.each([
    ["https://hook.example/a?b=c", none],
    ["https://1.1.1.1/", none],
    ["http://127.0.0.1:80/", LOCAL],
    ["http://localhost:80/", LOCAL],
    ["http://hook.internal/", LOCAL],
  ])("is taken: %s", (url, allowed) => {
    expect(findUrlFault(url, allowed)).toBeUndefined();
  });
});
