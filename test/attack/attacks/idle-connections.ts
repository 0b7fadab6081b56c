// More idle connections than the service has descriptors, by strangers without a key, and headers that
// never end.
import net from "node:net";
import type { Attack } from "../attack.ts";
import { type AttackStage, delay } from "../stage.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";

const DESCRIPTORS = 256;
const STRANGERS = 400;
/** Ten seconds, and the server's own step. */
const HEADER_MS_MAX = 14_000;
const DRIP_MS = 1000;

export const idleConnections: Attack = {
  name: "idle-connections",
  what: "400 idle connections at 256 descriptors, and headers that come byte by byte",
  async play(stage) {
    const broken: string[] = [];
    const figures: Record<string, number> = {};
    for (const adapter of ["uws", "node"]) {
      const env = { TRUSTRANK_HTTP_ADAPTER: adapter };
      const service = await stage.startLimited(DESCRIPTORS, env);
      // Over a connection that is there before: files are opened for the first time.
      await stage.ask(service, "/livez");
      const strangers = connect(service, STRANGERS);
      await delay(1000);
      const recorded = await report(stage, service);
      if (recorded !== 201) broken.push(`${adapter}: an outcome was answered ${recorded}`);
      figures[`${adapter}_closed`] = strangers.closed();
      strangers.end();
      if (!stage.isShort) {
        const tookMs = await drip(service);
        figures[`${adapter}_header_closed_ms`] = Math.round(tookMs);
        if (tookMs >= HEADER_MS_MAX) broken.push(`${adapter}: a header may drip on`);
      }
      const code = await service.stop();
      if (code !== 0) broken.push(`${adapter}: the service ended with ${code}`);
    }
    return { broken, figures };
  },
};

function connect(service: ServerProcess, count: number) {
  let closed = 0;
  const sockets = Array.from({ length: count }, () => {
    const socket = net.connect(Number(new URL(service.url).port), "127.0.0.1").resume();
    return socket.on("error", () => undefined).on("close", () => (closed += 1));
  });
  return {
    closed: () => closed,
    end: () => sockets.forEach((socket) => socket.destroy()),
  };
}

async function report(stage: AttackStage, service: ServerProcess): Promise<number> {
  const body = {
    subject: "agent://idle/seller",
    reporter: "agent://acme/buyer",
    outcome: 1,
    stakes: 5,
    grade: "counterparty",
  };
  return (await stage.ask(service, "/v1/outcomes", { body })).status;
}

/** Milliseconds until the service closes a connection whose header comes byte by byte. */
async function drip(service: ServerProcess): Promise<number> {
  const startedAt = performance.now();
  const socket = net.connect(Number(new URL(service.url).port), "127.0.0.1").resume();
  socket.on("error", () => undefined);
  let isClosed = false;
  socket.on("close", () => (isClosed = true));
  socket.write("GET /livez HTTP/1.1\r\nx-slow: ");
  while (!isClosed && performance.now() - startedAt < HEADER_MS_MAX) {
    await delay(DRIP_MS);
    if (!socket.destroyed) socket.write("a");
  }
  socket.destroy();
  return performance.now() - startedAt;
}
