// Connections that cost the service something and give it nothing: heads and bodies that come a byte at
// a time, and connections that say nothing at all. Another tenant has to be answered meanwhile, memory
// to stay flat, and the slow ones to be ended by the service.
import type { Socket } from "node:net";
import type { Attack } from "../attack.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import { type AttackStage, delay, figuresOf, othersFailed } from "../stage.ts";
import { openSocket, requestBytes } from "../wire.ts";

const HEADS = 700;
const BODIES = 1200;
const IDLE = 1500;
/** Of each, one in so many in the short form. */
const SHORT_SHARE = 10;
const DRIP_MS = 400;
/** Beyond the longest of the service's own times: 10 s idle, 30 s for one request. */
const LASTS_MS = 36_000;
const LASTS_SHORT_MS = 1200;
/** Between two pieces of another tenant's body. */
const PIECES_MS = 20;
const MORE_MIB_MAX = 200;
/** The other tenant's 99th percentile while it lasts, in ms. */
const OTHERS_P99_MAX_MS = 1000;

export const slowConnections: Attack = {
  name: "slow-connections",
  what: "700 heads and 1,200 bodies come a byte at a time, 1,500 connections say nothing",
  play: (stage) =>
    stage.onBoth(async (service) => {
      const key = await stage.makeKey(service, "slow", ["score:read"]);
      const others = await stage.makeKey(service, "others", ["score:read"]);
      let open = 0;
      let refused = 0;
      const watched = await stage.watch(service, async () => {
        const dripping = drip(stage, service, key);
        refused = await askInPieces(service, others, dripping);
        open = await dripping;
      });
      const broken: string[] = [];
      if (refused > 0) broken.push(`${refused} bodies of others in two pieces were refused`);
      broken.push(...othersFailed(watched));
      if (!stage.isShort && watched.during.p99 > OTHERS_P99_MAX_MS) {
        broken.push(`others' p99 was ${Math.round(watched.during.p99)} ms`);
      }
      const moreMib = watched.memoryPeakMib - watched.memoryBeforeMib;
      if (moreMib > MORE_MIB_MAX) broken.push(`${Math.round(moreMib)} MiB more`);
      if (!stage.isShort && open > 0) broken.push(`${open} slow connections were never ended`);
      return { broken, figures: { ...figuresOf(watched), left_open: open } };
    }),
};

/** Opens them all, drips, and counts those that the service has not ended. */
async function drip(stage: AttackStage, service: ServerProcess, key: string): Promise<number> {
  const share = stage.isShort ? SHORT_SHARE : 1;
  const head = `POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  const whole = `${head}Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{`;
  const heads = await openAll(service, HEADS / share, head);
  const bodies = await openAll(service, BODIES / share, whole);
  const idle = await openAll(service, IDLE / share, undefined);
  const until = performance.now() + (stage.isShort ? LASTS_SHORT_MS : LASTS_MS);
  while (performance.now() < until) {
    await delay(DRIP_MS);
    for (const socket of heads) if (!socket.destroyed) socket.write("X");
    for (const socket of bodies) if (!socket.destroyed) socket.write(" ");
  }
  const all = [...heads, ...bodies, ...idle];
  const open = all.filter(({ destroyed }) => !destroyed).length;
  for (const socket of all) socket.destroy();
  return open;
}

/** Another tenant's requests whose bodies come in two pieces; how many were not answered. */
async function askInPieces(
  service: ServerProcess,
  key: string,
  until: Promise<unknown>,
): Promise<number> {
  let isOver = false;
  void until.finally(() => (isOver = true));
  const body = JSON.stringify({ subject: "agent://acme/ledger-sync", stakes: 5 });
  const headers = { "content-type": "application/json" };
  const bytes = requestBytes({ method: "POST", path: "/v1/check", key, headers, body });
  const cut = bytes.byteLength - 10;
  let refused = 0;
  while (!isOver) {
    const socket = await openSocket(service.url);
    const reply = new Promise<string>((resolve) => {
      socket.once("data", (piece: Buffer) => resolve(piece.toString("latin1")));
      socket.once("close", () => resolve(""));
    });
    socket.write(bytes.subarray(0, cut));
    await delay(PIECES_MS);
    socket.write(bytes.subarray(cut));
    if (!(await reply).startsWith("HTTP/1.1 200")) refused++;
    socket.destroy();
  }
  return refused;
}

async function openAll(
  service: ServerProcess,
  count: number,
  first: string | undefined,
): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let at = 0; at < count; at++) {
    const socket = await openSocket(service.url);
    // What comes is read, or its end would never be seen.
    socket.resume();
    socket.on("end", () => socket.destroy());
    if (first !== undefined) socket.write(first);
    sockets.push(socket);
  }
  return sockets;
}
