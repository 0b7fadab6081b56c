// Floors for bench:http, each a server process of its own: `uws` reads the body and sends it back
// unread; `fastify` parses JSON and answers a constant verdict.
import Fastify from "fastify";
import { loadUws } from "../src/http/server/uws-binary.ts";

const HEADER_BYTES_MAX = 8192;

function announce(port: number): void {
  process.stdout.write(`${JSON.stringify({ port })}\n`);
}

function startUwsEcho(): void {
  const uws = loadUws(HEADER_BYTES_MAX);
  const app = uws.App();
  app.post("/v1/trust/verify", (res) => {
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

async function startFastify(): Promise<void> {
  const app = Fastify();
  const verdict = { request_id: "r", trust_evaluation: { score: 71, threshold_met: true } };
  app.post("/v1/trust/verify", () => verdict);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (address !== null && typeof address === "object") announce(address.port);
}

if (process.argv[2] === "uws") startUwsEcho();
else await startFastify();
