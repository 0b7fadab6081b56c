// Pipelined requests for large replies by a peer who never reads one.
import net from "node:net";
import { once } from "node:events";
import type { Attack } from "../attack.ts";
import { ADMIN_KEY, type ServerProcess } from "../../server-process.ts";
import { type AttackStage, delay, figuresOf } from "../stage.ts";

const SOCKETS = 10;
const REQUESTS = 10_000;
const REQUESTS_SHORT = 400;
const LASTS_MS = 20_000;
const LASTS_SHORT_MS = 1500;
const MEMORY_MORE_MIB = 200;

export const unreadReplies: Attack = {
  name: "unread-replies",
  what: "ten connections ask for ten thousand large replies each and never read one",
  async play(stage) {
    const broken: string[] = [];
    const figures: Record<string, number> = {};
    for (const adapter of ["uws", "node"]) {
      const service = await stage.startWith({ TRUSTRANK_HTTP_ADAPTER: adapter });
      const watched = await stage.watch(service, () => flood(stage, service));
      for (const [name, value] of Object.entries(figuresOf(watched))) {
        figures[`${adapter}_${name}`] = value;
      }
      const moreMib = watched.memoryPeakMib - watched.memoryBeforeMib;
      if (moreMib > MEMORY_MORE_MIB) broken.push(`${adapter}: ${Math.round(moreMib)} MiB more`);
      if (watched.during.failed > 0) broken.push(`${adapter}: others were not answered`);
      await service.stop();
    }
    return { broken, figures };
  },
};

async function flood(stage: AttackStage, service: ServerProcess): Promise<void> {
  const port = Number(new URL(service.url).port);
  const lines = ["GET /openapi.json HTTP/1.1", "Host: x", `Authorization: Bearer ${ADMIN_KEY}`];
  const text = `${lines.join("\r\n")}\r\n\r\n`.repeat(stage.isShort ? REQUESTS_SHORT : REQUESTS);
  const sockets: net.Socket[] = [];
  for (let i = 0; i < SOCKETS; i++) {
    const socket = net.connect(port, "127.0.0.1");
    // The service may close such a connection: that is one way to hold.
    socket.on("error", () => undefined);
    sockets.push(socket);
    await once(socket, "connect");
    socket.pause();
    socket.write(text);
  }
  await delay(stage.isShort ? LASTS_SHORT_MS : LASTS_MS);
  for (const socket of sockets) socket.destroy();
}
