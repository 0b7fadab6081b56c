// Pipelined requests for large replies by a peer who never reads one.
import type { Socket } from "node:net";
import type { Attack } from "../attack.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import { type AttackStage, delay, figuresOf, othersFailed } from "../stage.ts";
import { openSocket } from "../wire.ts";

const SOCKETS = 10;
const REQUESTS = 10_000;
const REQUESTS_SHORT = 400;
const LASTS_MS = 20_000;
const LASTS_SHORT_MS = 1500;
const MEMORY_MORE_MIB = 200;

export const unreadReplies: Attack = {
  name: "unread-replies",
  what: "ten connections ask for ten thousand large replies each and never read one",
  play: (stage) =>
    stage.onBoth(async (service) => {
      const broken: string[] = [];
      const watched = await stage.watch(service, () => flood(stage, service));
      const moreMib = watched.memoryPeakMib - watched.memoryBeforeMib;
      if (moreMib > MEMORY_MORE_MIB) broken.push(`${Math.round(moreMib)} MiB more`);
      broken.push(...othersFailed(watched));
      return { broken, figures: figuresOf(watched) };
    }),
};

async function flood(stage: AttackStage, service: ServerProcess): Promise<void> {
  const lines = ["GET /openapi.json HTTP/1.1", "Host: x"];
  const text = `${lines.join("\r\n")}\r\n\r\n`.repeat(stage.isShort ? REQUESTS_SHORT : REQUESTS);
  const sockets: Socket[] = [];
  for (let i = 0; i < SOCKETS; i++) {
    // The service may close such a connection: that is one way to hold.
    const socket = await openSocket(service.url);
    sockets.push(socket);
    socket.pause();
    socket.write(text);
  }
  await delay(stage.isShort ? LASTS_SHORT_MS : LASTS_MS);
  for (const socket of sockets) socket.destroy();
}
