// Open connections are bounded: beyond the bound the longest idle one is closed, or the new one where
// the server cannot tell, and whoever has a request under way is left alone.
import net from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { ConnectionLimit } from "../../../src/http/server/connections.ts";
import { listenNode } from "../../../src/http/server/node.ts";
import { listenUws } from "../../../src/http/server/uws.ts";
import type { HttpServer, Reply } from "../../../src/http/server/port.ts";

const MAX = 12;
const REPLY: Reply = { status: 200, headers: ["Content-Type", "text/plain"], body: "yes" };

const sockets: net.Socket[] = [];
const servers: HttpServer[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close(0);
});

/** A server that answers `/held` when told. */
async function open(listen: typeof listenNode) {
  let release = () => undefined as void;
  const held = new Promise<Reply>((resolve) => (release = () => resolve(REPLY)));
  const server = await listen(
    {
      exactPosts: [],
      isBodyOptional: () => false,
      admit: ({ path }) => ({
        refusal: undefined,
        bodyBytesMax: 0,
        sender: "",
        keepsBody: true,
        answer: () => (path === "/held" ? held : REPLY),
        refuse: () => REPLY,
      }),
      refuse: () => REPLY,
      onAborted: () => undefined,
      onFailure: (error) => expect.fail(String(error)),
    },
    { host: "127.0.0.1", port: 0, connections: new ConnectionLimit(MAX) },
  );
  servers.push(server);
  return { server, release };
}

async function connect({ port }: HttpServer): Promise<net.Socket> {
  const socket = net.connect(port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

async function ask(socket: net.Socket, path = "/"): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const [piece] = (await once(socket, "data")) as [Buffer];
  return piece.toString();
}

const isClosed = (socket: net.Socket) => socket.destroyed || socket.readableEnded;

/** Sees the end that the server makes. */
function watched(socket: net.Socket): net.Socket {
  return socket.resume();
}

describe.each([
  ["uws", listenUws],
  ["node", listenNode],
] as const)("connections over %s", (adapter, listen) => {
  it("are counted while they are open", async () => {
    const { server } = await open(listen);
    for (let count = 1; count <= 3; count++) {
      await connect(server);
      await expect.poll(() => server.connections.open).toBe(count);
    }
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => server.connections.open).toBe(0);
    expect(server.connections.refused + server.connections.closedIdle).toBe(0);
  });

  it("beyond the bound are closed at once, and one with a request under way is not", async () => {
    const { server, release } = await open(listen);
    const busy = await connect(server);
    const reply = ask(busy, "/held");
    await expect.poll(() => server.inflight).toBe(1);
    const idle: net.Socket[] = [];
    for (let count = 0; count < 3 * MAX; count++) idle.push(watched(await connect(server)));
    await expect.poll(() => idle.filter(isClosed).length).toBe(2 * MAX + 1);
    expect(server.connections.open).toBe(MAX);
    const { refused, closedIdle } = server.connections;
    expect(refused + closedIdle).toBe(2 * MAX + 1);
    // The one that has been idle longest goes, where the server knows; else the new one.
    const stayed = adapter === "node" ? idle.slice(-(MAX - 1)) : idle.slice(0, MAX - 1);
    expect(idle.filter((socket) => !isClosed(socket))).toEqual(stayed);
    release();
    expect(await reply).toContain("yes");
  });
});

it("tells once that the bound is reached, and once that there is room", () => {
  const told: unknown[] = [];
  let nowMs = 0;
  const log = {
    warn: (message: string, fields: object) => void told.push([message, fields]),
    info: (message: string, fields: object) => void told.push([message, fields]),
  };
  const connections = new ConnectionLimit(8, log, () => nowMs);
  const stranger = () => false;
  for (let count = 0; count < 12; count++) {
    if (!connections.enter(stranger))
      connections.turnAway(count % 2 === 0 ? "refused" : "closedIdle");
  }
  expect(told).toEqual([["connections_full", { connections_max: 8 }]]);
  for (let count = 0; count < 12; count++) connections.leave();
  expect(told.slice(1)).toEqual([["connections_free", { open: 6, closed: 4 }]]);
  expect([connections.open, connections.refused, connections.closedIdle]).toEqual([0, 2, 2]);
  // A crowd that comes and goes fills no log.
  const crowd = () => {
    for (let count = 0; count < 9; count++) {
      if (!connections.enter(stranger)) connections.turnAway("refused");
    }
    for (let count = 0; count < 9; count++) connections.leave();
  };
  crowd();
  expect(told).toHaveLength(2);
  nowMs = 60_000;
  crowd();
  expect(told.slice(2)).toEqual([
    ["connections_full", { connections_max: 8 }],
    ["connections_free", { open: 6, closed: 1 }],
  ]);
});

it("keeps room for sockets of the file system beyond the bound, and not without end", () => {
  const connections = new ConnectionLimit(4);
  for (let count = 0; count < 4; count++) expect(connections.enter(() => false)).toBe(true);
  expect(connections.enter(() => false)).toBe(false);
  connections.leave();
  const local = Array.from({ length: 17 }, () => connections.enter(() => true));
  expect(local).toEqual([...Array.from({ length: 16 }, () => true), false]);
});

it("over uws a reply ends its connection once three quarters of the bound are taken", async () => {
  const { server } = await open(listenUws);
  const caller = watched(await connect(server));
  expect(await ask(caller)).toContain("yes");
  for (let count = 0; count < MAX - 2; count++) await connect(server);
  await expect.poll(() => server.connections.open).toBe(MAX - 1);
  expect(await ask(caller)).toContain("yes");
  await expect.poll(() => isClosed(caller)).toBe(true);
  expect(await ask(await connect(server))).toContain("yes");
});

it("over node a connection that has been answered is idle again, and the newest of them", async () => {
  const { server } = await open(listenNode);
  const first = watched(await connect(server));
  const second = watched(await connect(server));
  expect(await ask(first)).toContain("yes");
  for (let count = 0; count < MAX - 1; count++) await connect(server);
  await expect.poll(() => isClosed(second)).toBe(true);
  expect(isClosed(first)).toBe(false);
});
