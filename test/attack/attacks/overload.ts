// More work than the service can do, on many connections at once, and the mixed work of every day for
// long. Every request is answered or refused with a code that says when to come again; memory is flat.
import type { Attack } from "../attack.ts";
import { codeOf } from "../judge.ts";
import { delay, figuresOf, memoryMib, othersFailed } from "../stage.ts";
import { requestBytes, Wire, type WireReply } from "../wire.ts";

const CONNECTIONS = 2000;
const CONNECTIONS_SHORT = 200;
/** Connections opened at a time. */
const AT_ONCE = 50;
const LASTS_MS = 20_000;
const LASTS_SHORT_MS = 800;
/** Refusals that are an answer to overload. */
const SHED = new Set(["overloaded", "deadline_exceeded", "rate_limited"]);
const SOAK_LANES = 8;
const SOAK_SHORT_MS = 1000;
const SOAK_PAUSE_MS = 20;
/** Windows over which the least memory is taken: what a collection leaves, not what awaits one. */
const WINDOWS = 12;
const SLOPE_MAX_MIB_PER_MIN = 25;
/** Below this the growth of a heap that has not settled says nothing. */
const SLOPE_JUDGED_MS = 120_000;
const AGENTS = 500;

export const overload: Attack = {
  name: "overload",
  what: "two thousand connections ask and report as fast as they are answered",
  play: (stage) =>
    stage.onBoth(async (service) => {
      const key = await stage.makeKey(service, "crowd", ["score:read", "outcomes:write"]);
      const counts = { answered: 0, shed: 0 };
      const odd = new Map<string, number>();
      const ask = async (wire: Wire, lane: number, until: number) => {
        for (let turn = 0; performance.now() < until; turn++) {
          const reply = await wire.send(workOf(key, lane * 7 + turn));
          const what = typeof reply === "string" ? reply : String(reply.status);
          if (what.startsWith("2")) counts.answered++;
          else if (SHED.has(codeOf(reply))) counts.shed++;
          else odd.set(what, (odd.get(what) ?? 0) + 1);
        }
        wire.close();
      };
      const watched = await stage.watch(service, async () => {
        const count = stage.isShort ? CONNECTIONS_SHORT : CONNECTIONS;
        const wires: Wire[] = [];
        for (let at = 0; at < count; at += AT_ONCE) {
          // Before the crowd asks: Node accepts one connection in a turn of its loop, and a turn that
          // answers two thousand takes long.
          const more = Array.from({ length: AT_ONCE }, () => new Wire(service.url));
          await Promise.all(more.map((wire) => wire.send(workOf(key, 0))));
          wires.push(...more);
        }
        const until = performance.now() + (stage.isShort ? LASTS_SHORT_MS : LASTS_MS);
        await Promise.all(wires.map((wire, lane) => ask(wire, lane, until)));
      });
      const broken = [...odd].map(([what, times]) => `${times} requests ended with ${what}`);
      broken.push(...othersFailed(watched));
      return { broken, figures: { ...counts, ...figuresOf(watched) } };
    }),
};

/** A verdict, a check or an outcome, by number. */
function workOf(key: string, number: number): Buffer {
  const agent = `agent://crowd/${number % AGENTS}`;
  const post = (path: string, body: object) =>
    requestBytes({
      method: "POST",
      path,
      key,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  if (number % 3 === 0) return post("/v1/check", { subject: agent, stakes: number % 1000 });
  const asked = { agent_id: agent, action: "order.place", tool_level: "L2", context: {} };
  if (number % 3 === 1) return post("/v1/trust/verify", asked);
  const reporter = `agent://crowd/${(number + 1) % AGENTS}`;
  const reported = { subject: agent, reporter, outcome: number % 2, stakes: 5, grade: "escrow" };
  return post("/v1/outcomes", reported);
}

export const soak: Attack = {
  name: "soak",
  what: "verdicts, outcomes, sources, queries and refusals in turn, for as long as --minutes says",
  play: (stage) =>
    stage.watchedOnBoth(async (service) => {
      const scopes = ["score:read", "outcomes:write", "evidence:write", "analytics:read"];
      const key = await stage.makeKey(service, "everyday", scopes);
      const lastsMs = stage.isShort ? SOAK_SHORT_MS : stage.durationMs / 2;
      const startedAt = performance.now();
      const samples: [number, number][] = [];
      const broken = new Map<string, number>();
      let requests = 0;
      const lane = async (_: unknown, at: number) => {
        const wire = new Wire(service.url);
        for (let turn = 0; performance.now() - startedAt < lastsMs; turn++) {
          const [method, bytes] = everyday(key, at * 1_000_003 + turn);
          const reply = await wire.send(bytes, { method });
          requests++;
          const wrong = failureOf(reply, bytes);
          if (wrong !== undefined) broken.set(wrong, (broken.get(wrong) ?? 0) + 1);
          if (at === 0) samples.push([performance.now() - startedAt, memoryMib(service.pid)]);
          await delay(SOAK_PAUSE_MS);
        }
        wire.close();
      };
      await Promise.all(Array.from({ length: SOAK_LANES }, lane));
      const slope = slopeOf(samples, lastsMs);
      const told = [...broken].map(([what, times]) => `${times} requests: ${what}`);
      if (lastsMs >= SLOPE_JUDGED_MS && slope > SLOPE_MAX_MIB_PER_MIN) {
        told.push(`memory grows by ${slope.toFixed(1)} MiB a minute`);
      }
      const last = samples.at(-1)?.[1] ?? 0;
      const figures = { requests, slope_mib_per_min: Math.round(slope * 10) / 10 };
      return { broken: told, figures: { ...figures, memory_mib: Math.round(last) } };
    }),
};

/** What was asked and what is wrong with the answer. */
export function failureOf(reply: WireReply | string, asked: Buffer): string | undefined {
  const line = asked.toString("latin1", 0, asked.indexOf(" HTTP/1.1"));
  if (typeof reply === "string") return `${line}: ${reply}`;
  return reply.status < 500 ? undefined : `${line}: ${reply.body.toString("utf8").slice(0, 200)}`;
}

/** One request of everyday work, by number: its method and bytes. */
export function everyday(key: string, number: number): [string, Buffer] {
  const kind = number % 20;
  const send = (method: string, path: string, body?: object): [string, Buffer] => {
    const headers: Record<string, string> =
      body === undefined ? {} : { "content-type": "application/json" };
    const text = body === undefined ? undefined : JSON.stringify(body);
    return [method, requestBytes({ method, path, key, headers, body: text })];
  };
  const source = `/v1/evidence/doc:${number % 200}`;
  if (kind === 0) return send("POST", "/v1/query", { sql: "SELECT count(*) FROM outcomes" });
  if (kind === 1) return send("PUT", source, { text: `text ${number % 50}` });
  if (kind === 2) return send("GET", source);
  if (kind === 3) return send("GET", "/v1/decisions?limit=10");
  if (kind === 4) return send("POST", "/v1/check", { subject: 5 });
  if (kind === 5) return send("GET", "/v1/keys");
  if (kind === 6) return send("GET", `/v1/agents/agent%3A%2F%2Fcrowd%2F${number % AGENTS}`);
  if (kind === 7) return send("GET", "/openapi.json");
  return ["POST", workOf(key, number)];
}

/** Least-squares slope of the least memory of each window after the first third, MiB a minute. */
export function slopeOf(samples: readonly (readonly [number, number])[], lastsMs: number): number {
  const fromMs = lastsMs / 3;
  const windowMs = (lastsMs - fromMs) / WINDOWS;
  const least = new Map<number, number>();
  for (const [atMs, mib] of samples) {
    const window = Math.floor((atMs - fromMs) / windowMs);
    if (window >= 0) least.set(window, Math.min(least.get(window) ?? Infinity, mib));
  }
  const points = [...least];
  const mean = (values: readonly number[]) =>
    values.reduce((sum, each) => sum + each, 0) / values.length;
  const [x, y] = [mean(points.map(([window]) => window)), mean(points.map(([, mib]) => mib))];
  const spread = points.reduce((sum, [window]) => sum + (window - x) ** 2, 0);
  const common = points.reduce((sum, [window, mib]) => sum + (window - x) * (mib - y), 0);
  return spread === 0 ? 0 : (common / spread) * (60_000 / windowMs);
}
