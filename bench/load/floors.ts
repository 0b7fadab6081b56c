// Servers that the service is compared with, each a process of its own: `uws` reads the body and sends it
// back unread, `node` does the same on node:http, `fastify` validates the body by a schema and answers
// a constant verdict by one.
import http from "node:http";
import Fastify from "fastify";
import { loadUws } from "../../src/http/server/uws-binary.ts";

const HEADER_BYTES_MAX = 8192;
const ROUTE = "/v1/trust/verify";

function announce(port: number): void {
  process.stdout.write(`${JSON.stringify({ port })}\n`);
}

function startUwsEcho(): void {
  const uws = loadUws(HEADER_BYTES_MAX);
  const app = uws.App();
  app.post(ROUTE, (res) => {
    res.onAborted(() => {});
    res.onData((chunk, isLast) => {
      // Echoing the one chunk is enough: the bench's body fits the first packet.
      if (isLast) res.writeHeader("content-type", "application/json").end(chunk);
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

/** The least that a service in plain JavaScript does: the body's schema, and that of the answer. */
async function startFastify(): Promise<void> {
  const text = { type: "string", maxLength: 512 };
  const body = {
    type: "object",
    required: ["agent_id", "action", "tool_level"],
    properties: {
      agent_id: text,
      action: text,
      tool_level: { enum: ["L0", "L1", "L2", "L3"] },
      context: {
        type: "object",
        properties: {
          content_hash: { ...text, pattern: "^sha256:[0-9a-f]{64}$" },
          cited_sources: { type: "array", maxItems: 64, items: text },
          session_duration_sec: { type: "number", minimum: 0 },
        },
      },
    },
  };
  const evaluation = {
    type: "object",
    properties: { score: { type: "number" }, threshold_met: { type: "boolean" } },
  };
  const answer = {
    type: "object",
    properties: { request_id: { type: "string" }, trust_evaluation: evaluation },
  };
  const app = Fastify();
  const verdict = { request_id: "r", trust_evaluation: { score: 71, threshold_met: true } };
  app.post(ROUTE, { schema: { body, response: { 200: answer } } }, () => verdict);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (address !== null && typeof address === "object") announce(address.port);
}

const [, , kind] = process.argv;
if (kind === "uws") startUwsEcho();
else if (kind === "node") startNodeEcho();
else await startFastify();
