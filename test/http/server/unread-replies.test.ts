// A peer that sends requests and does not read: its replies are not piled up in memory, others are
// answered meanwhile, and nothing is lost once it reads.
import net from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { ConnectionLimit } from "../../../src/http/server/connections.ts";
import { listenNode } from "../../../src/http/server/node.ts";
import { listenUws } from "../../../src/http/server/uws.ts";
import { describeServers } from "../_servers.ts";

/** Enough that the buffers of the sockets hold a fraction of the replies, some 60 kB each. */
const LARGE_SENT = 600;
/** Of small ones, some 200 bytes each. */
const SMALL_SENT = 60_000;

const sockets: net.Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function connect(port: number): Promise<net.Socket> {
  const socket = net.connect(port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

describeServers("replies that are not read", (service, adapter) => {
  const portOf = () => Number(new URL(service.base).port);

  /** Replies made to a route so far. */
  async function madeBy(route: string): Promise<number> {
    const headers = { authorization: `Bearer ${service.admin}` };
    const text = await (await fetch(`${service.base}/metrics`, { headers })).text();
    const line = new RegExp(
      `^trustrank_http_requests_total\\{[^}]*route="${route}"[^}]*\\} (\\d+)$`,
      "m",
    );
    return Number(line.exec(text)?.[1] ?? 0);
  }

  /** Waits until no more replies are made, and returns how many there are. */
  async function settled(route: string): Promise<number> {
    let last = -1;
    for (let made = await madeBy(route); made !== last; made = await madeBy(route)) {
      last = made;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return last;
  }

  async function flood(path: string, route: string, count: number) {
    const before = await madeBy(route);
    const socket = await connect(portOf());
    socket.pause();
    const lines = ["GET " + path + " HTTP/1.1", "Host: x", `Authorization: Bearer ${service.key}`];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`.repeat(count));
    const made = (await settled(route)) - before;
    return { socket, made };
  }

  /** Replies read until the connection ends, or until all have come. */
  async function readAll(socket: net.Socket, count: number): Promise<number> {
    let text = "";
    let seen = 0;
    let isClosed = false;
    socket.on("close", () => (isClosed = true));
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text = text.slice(-14) + piece;
      seen += text.split("HTTP/1.1 200 OK").length - 1;
    });
    socket.resume();
    await expect.poll(() => isClosed || seen === count).toBe(true);
    return seen;
  }

  it("are not made beyond what the connection holds", async () => {
    const { socket, made } = await flood("/openapi.json", "openapi", LARGE_SENT);
    expect(made).toBeLessThan(LARGE_SENT / 2);
    const read = await readAll(socket, LARGE_SENT);
    // The native server closes a connection that sends on while a reply waits to be read.
    if (adapter === "uws") expect(read).toBeLessThanOrEqual(made);
    else expect(read).toBe(LARGE_SENT);
  });

  it("are bounded where they are small, too", async () => {
    const { made } = await flood("/healthz", "healthz", SMALL_SENT);
    expect(made).toBeLessThan(SMALL_SENT * 0.9);
  });

  it("that are read as they come are all made, one connection with many at a time", async () => {
    const socket = await connect(portOf());
    const read = readAll(socket, 2000);
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2000));
    expect(await read).toBe(2000);
  });
});

describe.each([
  ["uws", listenUws],
  ["node", listenNode],
] as const)("a large reply that is read slowly (%s)", (_name, listen) => {
  it("arrives whole", async () => {
    const body = Buffer.alloc(24 * 1024 * 1024, "0123456789abcdef");
    const reply = { status: 200, headers: ["Content-Type", "text/plain"], body };
    const admission = {
      refusal: undefined,
      bodyBytesMax: 0,
      keepsBody: true,
      sender: "",
      answer: () => reply,
      refuse: () => reply,
    };
    const server = await listen(
      {
        exactPosts: [],
        isBodyOptional: () => false,
        admit: () => admission,
        refuse: () => reply,
        onAborted: () => undefined,
        onFailure: (error) => expect.fail(String(error)),
      },
      { host: "127.0.0.1", port: 0, connections: new ConnectionLimit(100) },
    );
    const socket = await connect(server.port);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const pieces: Buffer[] = [];
    let length = 0;
    socket.on("data", (piece) => {
      pieces.push(piece);
      length += piece.length;
      socket.pause();
      setImmediate(() => socket.resume());
    });
    await expect.poll(() => length).toBeGreaterThan(body.length);
    const whole = Buffer.concat(pieces);
    expect(whole.subarray(whole.indexOf("\r\n\r\n") + 4).equals(body)).toBe(true);
    await server.close(0);
  });
});
