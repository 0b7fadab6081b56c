// Servers that the service is compared with, each a process of its own: `uws` reads the body and sends it
// back unread, and with `uws+STEP+STEP` does some of what verify does, `node` does the same on node:http; of Fastify
// see fastify.ts.
import http from "node:http";
import { RequestIdGenerator } from "../../src/http/codec/request-id.ts";
import { scanVerifyRequest } from "../../src/http/codec/verify-scan.ts";
import { startFastify } from "./fastify.ts";
import { HeadReader } from "../../src/http/server/framing.ts";
import { loadUws } from "../../src/http/server/uws-binary.ts";

const HEADER_BYTES_MAX = 8192;
const ROUTE = "/v1/trust/verify";

function announce(port: number): void {
  process.stdout.write(`${JSON.stringify({ port })}\n`);
}

/** As long as the reply of a verify without reasons, and as its head. */
const REPLY_BYTES = 640;
const REPLY_HEAD =
  "200 OK\r\nContent-Type: application/json\r\nCache-Control: private, max-age=300\r\n" +
  "X-Request-Id: 01a2054c-2343-742d-9814-0d33641a7dc0";

/** Arithmetic that takes `ns` nanoseconds, measured now. */
function workOf(ns: number): () => number {
  const run = (times: number): number => {
    let state = 1;
    for (let time = 0; time < times; time += 1) state = (state * 16_807) % 2_147_483_647;
    return state;
  };
  run(1e7);
  const began = performance.now();
  const kept = run(1e8);
  const times = Math.round(ns / (((performance.now() - began) * 1e6) / 1e8));
  return () => run(times) + kept;
}

/** The echo, and of what verify does the steps that are asked for. */
function startUwsEcho(steps: readonly string[]): void {
  const uws = loadUws(HEADER_BYTES_MAX);
  const app = uws.App();
  const has = (step: string) => steps.includes(step);
  const [readsHead, buffers, scans, makesId, replies] = [
    "head",
    "buffer",
    "scan",
    "id",
    "reply",
  ].map(has);
  const workNs = Number(steps.find((step) => step.endsWith("ns"))?.slice(0, -2) ?? 0);
  const work = workNs === 0 ? undefined : workOf(workNs);
  const ids = new RequestIdGenerator(() => Date.now());
  const reply = Buffer.from(JSON.stringify("x".repeat(REPLY_BYTES - 2)));
  const head = Buffer.from(REPLY_HEAD) as unknown as string;
  let reading: HeadReader;
  const everyBodyWanted = { isBodyOptional: () => false };
  const readLine = (name: string, value: string) => reading.add(name, value);
  /** Adds up what the steps give, so that none is left out. */
  let used = 0;
  app.post(ROUTE, (res, request) => {
    res.onAborted(() => {});
    if (readsHead) {
      reading = new HeadReader("POST", ROUTE);
      request.forEach(readLine);
      if (reading.framingFault(everyBodyWanted) === undefined) used += reading.contentLength;
    }
    res.onData((chunk, isLast) => {
      // Echoing the one chunk is enough: the bench's body fits the first packet.
      if (!isLast) return;
      if (buffers) used += Buffer.from(chunk).length;
      if (scans) used += scanVerifyRequest(Buffer.from(chunk))?.agent_id.length ?? 0;
      if (makesId) used += ids.next().length;
      if (work !== undefined) used += work();
      if (replies) res.writeStatus(head).end(reply);
      else res.writeHeader("content-type", "application/json").end(chunk);
    });
  });
  app.listen("127.0.0.1", 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket !== false) announce(uws.us_socket_local_port(socket));
  });
}

function startNodeEcho(): void {
  const server = http.createServer((request, response) => {
    request.once("data", (body: Buffer) => {
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": body.byteLength,
      });
      response.end(body);
    });
  });
  server.listen(0, "127.0.0.1", () => announce((server.address() as { port: number }).port));
}

const [, , kind = ""] = process.argv;
const [server, ...steps] = kind.split("+");
if (server === "uws") startUwsEcho(steps);
else if (server === "node") startNodeEcho();
else announce(await startFastify(steps.includes("whole")));
