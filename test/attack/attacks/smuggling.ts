// Requests whose end is in doubt with a complete request behind them, on both HTTP servers: the one
// behind must never run. The service's own count of that route says whether one did.
import type { Attack } from "../attack.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import { type Smuggle, smuggles } from "../material/smuggling.ts";
import type { AttackStage } from "../stage.ts";
import { openSocket, requestBytes, Wire } from "../wire.ts";

/** Sockets open at once. */
const BATCH = 120;
/** Of the variants, every so many-th in the short form. */
const SHORT_EVERY = 4;
/** Round trips after which the service has certainly read what was sent before. */
const TURNS = 3;

export const smuggling: Attack = {
  name: "smuggling",
  what: "a request hides behind one whose length, coding or lines can be read in two ways",
  play: (stage) =>
    stage.watchedOnBoth(async (service) => {
      const key = await stage.makeKey(service, "smuggler", ["score:read"]);
      const all = [...smuggles(partsOf(key))];
      const variants = stage.isShort ? all.filter((_, at) => at % SHORT_EVERY === 0) : all;
      const broken: string[] = [];
      let answered = 0;
      for (let at = 0; at < variants.length; at += BATCH) {
        const batch = variants.slice(at, at + BATCH);
        const before = await handshakes(stage, service);
        answered += await sendAll(service, batch);
        if ((await handshakes(stage, service)) === before) continue;
        // Once more, one by one, to name them.
        for (const variant of batch) {
          const counted = await handshakes(stage, service);
          await sendAll(service, [variant]);
          if ((await handshakes(stage, service)) > counted) broken.push(`ran: ${variant.name}`);
        }
      }
      // The request that hides is one that runs when it is sent by itself.
      const counted = await handshakes(stage, service);
      await sendAll(service, [{ name: "", pieces: [partsOf(key).hidden] }]);
      const isRun = (await handshakes(stage, service)) === counted + 1;
      if (!isRun) broken.push("the hidden request does not run by itself: nothing was tried");
      return { broken, figures: { sends: variants.length, answered } };
    }),
};

function partsOf(key: string) {
  const headers = [
    "Host: localhost",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
  ];
  const inner = JSON.stringify({
    initiator: "agent://acme/ledger-sync",
    counterparty: "agent://hooli/search-agent",
    stakes: 5,
  });
  const hidden = [
    "POST /v1/handshake HTTP/1.1",
    ...headers,
    `Content-Length: ${Buffer.byteLength(inner)}`,
    "",
    inner,
  ].join("\r\n");
  const body = JSON.stringify({ subject: "agent://acme/ledger-sync", stakes: 5 });
  return { headers, path: "/v1/check", body, hidden };
}

/** Handshakes that the service has answered, by its metrics. */
async function handshakes(stage: AttackStage, service: ServerProcess): Promise<number> {
  const { text } = await stage.ask(service, "/metrics");
  const lines = text.matchAll(
    /^trustrank_http_requests_total\{[^}]*route="handshake"[^}]*\} (\d+)$/gm,
  );
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Sends each on a connection of its own, piece by piece; how many of them were answered. */
async function sendAll(service: ServerProcess, variants: readonly Smuggle[]): Promise<number> {
  let answered = 0;
  const sockets = await Promise.all(variants.map(() => openSocket(service.url)));
  for (const socket of sockets) socket.once("data", () => answered++);
  // On connections of their own: connections are accepted in order, some a turn of a loop.
  const turn = async () => {
    for (let each = 0; each < TURNS; each++) {
      const wire = new Wire(service.url);
      await wire.send(requestBytes({ method: "GET", path: "/healthz" }), { method: "GET" });
      wire.close();
    }
  };
  const longest = Math.max(...variants.map(({ pieces }) => pieces.length));
  for (let piece = 0; piece < longest; piece++) {
    for (const [at, { pieces }] of variants.entries()) {
      const text = pieces[piece];
      if (text !== undefined) sockets[at]?.write(Buffer.from(text, "latin1"));
    }
    await turn();
  }
  for (const socket of sockets) socket.destroy();
  return answered;
}
