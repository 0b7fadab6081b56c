// Crowds before a service with few descriptors: connections that say nothing, heads and bodies that come
// byte by byte, a flood of short ones. Others are answered meanwhile, every place comes free again, the log
// says so once, and no descriptor stays open.
import * as fs from "node:fs";
import http from "node:http";
import net from "node:net";
import { afterAll, describe, test } from "vitest";
import { endAll, startCommand } from "../cli/_process.ts";

const ADMIN = "an-admin-secret-of-the-operator-0123456789";
const DESCRIPTORS = 256;
const STRANGERS = 240;
const FLOOD = 1000;
/** Of Node and the store, opened and closed as they like. */
const SPARE = 4;
const folder = fs.mkdtempSync("/tmp/trustrank-strangers-");

const sockets = new Set<net.Socket>();
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await endAll();
  fs.rmSync(folder, { recursive: true, force: true });
});

const BODY = JSON.stringify({ subject: "agent://acme/buyer", stakes: 1 });
const HEAD = `POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN}\r\n`;
const TYPED = `${HEAD}Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`;

/** What each kind says at first, and one byte after the other. */
const KINDS = [
  { first: "", rest: "" },
  { first: "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ", rest: "a" },
  { first: TYPED, rest: BODY },
];

/** Connects and dribbles until it is closed. */
function stranger(port: number, kind: (typeof KINDS)[number], onClosed: () => void): void {
  const socket = net.connect(port, "127.0.0.1").resume();
  sockets.add(socket);
  let sent = 0;
  socket.write(kind.first);
  const timer = setInterval(() => {
    if (kind.rest !== "" && socket.writable) socket.write(kind.rest[sent++ % kind.rest.length]!);
  }, 1000);
  socket.on("error", () => undefined);
  socket.on("close", () => {
    clearInterval(timer);
    sockets.delete(socket);
    onClosed();
  });
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function ask(options: http.RequestOptions, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
  const method = body === undefined ? "GET" : "POST";
  return new Promise((resolve, reject) => {
    const sent = http.request(
      { host: "127.0.0.1", method, headers, agent: false, ...options },
      (reply) => {
        let text = "";
        reply.on("data", (piece) => (text += String(piece)));
        reply.on("end", () => resolve({ status: reply.statusCode ?? 0, text }));
      },
    );
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe.concurrent.each(["uws", "node"])("a service with few descriptors, on %s", (adapter) => {
  test("outlives a crowd that is slow, and one that is quick", async ({ expect }) => {
    const socketPath = `${folder}/${adapter}.sock`;
    const flags = ["--json", "--no-sample", "--data-dir", `${folder}/${adapter}`];
    const server = startCommand(
      ["serve", ...flags, "--listen", `127.0.0.1:0,unix:${socketPath}`],
      { TRUSTRANK_ADMIN_KEY: ADMIN, TRUSTRANK_HTTP_ADAPTER: adapter },
      ["sh", "-c", `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`],
    );
    const { url } = JSON.parse(await server.firstLine) as { url: string };
    const port = Number(new URL(url).port);
    const open = () => fs.readdirSync(`/proc/${server.process.pid}/fd`).length;
    const asked = { subject: "agent://acme/buyer", stakes: 1 };
    const outcome = { ...asked, reporter: "agent://acme/r", outcome: 1, grade: "escrow" };
    // Everything that is opened for the first request is open now.
    expect((await ask({ socketPath, path: "/v1/outcomes" }, outcome)).status).toBe(201);
    const before = open();

    let closed = 0;
    const start = Date.now();
    for (let each = 0; each < STRANGERS; each++) {
      stranger(port, KINDS[each % KINDS.length]!, () => (closed += 1));
    }
    await expect.poll(open).toBeGreaterThan(before + 16);
    let answered = 0;
    while (closed < STRANGERS) {
      expect((await ask({ socketPath, path: "/livez" })).status).toBe(200);
      answered += 1;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(answered).toBeGreaterThan(20);
    expect((Date.now() - start) / 1000).toBeGreaterThan(9);
    expect((await ask({ port, path: "/v1/check" }, asked)).status).toBeLessThan(404);
    expect((await ask({ port, path: "/v1/outcomes" }, outcome)).status).toBe(201);
    await expect.poll(open).toBeLessThanOrEqual(before + SPARE);

    const isAlive = () =>
      ask({ socketPath, path: "/livez" }).then(
        ({ status }) => status === 200,
        () => false,
      );
    for (let each = 0; each < FLOOD; each++) {
      const socket = net.connect(port, "127.0.0.1").on("error", () => undefined);
      socket.once("connect", () => socket.destroy());
      if (each % 100 === 0) await expect.poll(isAlive).toBe(true);
    }
    await expect.poll(open).toBeLessThanOrEqual(before + SPARE);
    await expect.poll(isAlive).toBe(true);
    expect((await ask({ port, path: "/livez" })).status).toBe(200);
    server.process.kill("SIGTERM");
    const { code, stderr } = await server.ended;
    expect(code, stderr).toBe(0);
    const told = stderr.match(/connections_(full|free)/g);
    expect(told).toEqual(["connections_full", "connections_free"]);
  });
});
