// bench:overload: twice as many requests as the service can answer, and what becomes of them. The real
// service on loopback, defaults on. In turn: the rate it sustains (closed loop, saturated), half of it
// (quiet), --times of it for --seconds, half of it again. In the open loops each request has a time at
// which it is due and its latency counts from then, a wait for a free connection included. A second
// key asks on a connection of its own every 5 ms throughout: what a flood costs others. A table on
// stderr, one JSON object on the last line of stdout; `--smoke` lasts a moment.
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { parsed } from "./load/parsed.ts";
import { buildRequest, quantile } from "./raw-client.ts";
import { ADMIN_KEY, machine, startServiceWith } from "./server-process.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const OTHERS_EVERY_MS = 5;
/** Width of the windows in which recovery is looked for. */
const WINDOW_MS = 250;
const STATUS_AT = "HTTP/1.1 ".length;
const [ANSWERED, TURNED_AWAY] = ["200", "503"];

const { values } = parsed(import.meta.filename, {
  options: {
    smoke: { type: "boolean", default: false },
    connections: { type: "string", default: "2000" },
    saturating: { type: "string", default: "64" },
    times: { type: "string", default: "2" },
    rate: { type: "string" },
    seconds: { type: "string", default: "30" },
    items: { type: "string", default: "10" },
    "queue-ms": { type: "string", default: "" },
  },
});
const connectionCount = values.smoke ? 50 : Number(values.connections);
const overloadSec = values.smoke ? 0.5 : Number(values.seconds);
const quietSec = values.smoke ? 0.5 : 5;
/** Latencies by end of the request, in ms; `at` is when it was due. */
interface Phase {
  readonly answered: number[];
  readonly answeredAt: number[];
  readonly turnedAway: number[];
  /** By which the generator was late to send, ms: the part of all latencies that is its own. */
  readonly late: number[];
  failed: number;
  startedAt: number;
  endedAt: number;
}

function emptyPhase(): Phase {
  const startedAt = performance.now();
  const lists = { answered: [], answeredAt: [], turnedAway: [], late: [] };
  return { ...lists, failed: 0, startedAt, endedAt: startedAt };
}

/** Connections of one caller, one request on each at a time. */
class Callers {
  phase = emptyPhase();
  readonly free: Socket[] = [];
  readonly #dueAt = new Map<Socket, number>();
  /** Of a reply in pieces: its status, and the bytes still to come. */
  readonly #statuses = new Map<Socket, string>();
  readonly #missing = new Map<Socket, number>();
  onFree: () => void = () => undefined;

  readonly #request: Buffer;
  #isClosed = false;
  private constructor(request: Buffer) {
    this.#request = request;
  }

  static async open(url: URL, count: number, request: Buffer): Promise<Callers> {
    const callers = new Callers(request);
    for (let at = 0; at < count; at += 50) {
      const some = Array.from({ length: Math.min(50, count - at) }, () => callers.#connect(url));
      await Promise.all(some);
    }
    return callers;
  }

  #connect(url: URL): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(url.port), url.hostname, resolve);
      socket.setNoDelay(true);
      socket.on("error", reject);
      socket.on("close", () => {
        if (this.#dueAt.delete(socket)) this.phase.failed += 1;
        // The service closes who asks nothing for ten seconds: another takes its place.
        const at = this.free.indexOf(socket);
        if (at >= 0) this.free.splice(at, 1);
        if (at >= 0 && !this.#isClosed) this.#connect(url).catch(() => undefined);
      });
      socket.on("data", (bytes) => this.#take(socket, bytes));
      this.free.push(socket);
    });
  }

  get underWay(): number {
    return this.#dueAt.size;
  }

  /** Sends on a free connection; false when there is none. */
  send(dueAt: number): boolean {
    const socket = this.free.pop();
    if (socket === undefined) return false;
    this.#dueAt.set(socket, dueAt);
    this.phase.late.push(performance.now() - dueAt);
    socket.write(this.#request);
    return true;
  }

  #take(socket: Socket, bytes: Buffer): void {
    const missing = (this.#missing.get(socket) ?? this.#begin(socket, bytes)) - bytes.byteLength;
    if (missing > 0) {
      this.#missing.set(socket, missing);
      return;
    }
    this.#missing.delete(socket);
    this.#settle(socket, this.#statuses.get(socket)!, this.#dueAt.get(socket)!);
  }

  /** @returns the length of the reply that begins here. */
  #begin(socket: Socket, bytes: Buffer): number {
    const headEnd = bytes.indexOf("\r\n\r\n");
    const head = bytes.toString("latin1", 0, headEnd);
    this.#statuses.set(socket, head.slice(STATUS_AT, STATUS_AT + 3));
    return headEnd + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  }

  #settle(socket: Socket, status: string, dueAt: number): void {
    this.#dueAt.delete(socket);
    const ms = performance.now() - dueAt;
    if (status === ANSWERED) {
      this.phase.answered.push(ms);
      this.phase.answeredAt.push(dueAt);
    } else if (status === TURNED_AWAY) this.phase.turnedAway.push(ms);
    else this.phase.failed += 1;
    this.free.push(socket);
    this.onFree();
  }

  begin(): Phase {
    this.phase = emptyPhase();
    return this.phase;
  }

  async settle(): Promise<void> {
    const until = performance.now() + 10_000;
    while (this.underWay > 0 && performance.now() < until) await delay(1);
    this.phase.endedAt = performance.now();
  }

  close(): void {
    this.#isClosed = true;
    for (const socket of this.free) socket.destroy();
  }
}

/** As fast as `count` connections are answered. */
async function saturate(callers: Callers, seconds: number): Promise<number> {
  const phase = callers.begin();
  const until = phase.startedAt + seconds * 1000;
  callers.onFree = () => {
    if (performance.now() < until) callers.send(performance.now());
  };
  while (callers.send(performance.now()));
  while (performance.now() < until) await delay(5);
  await callers.settle();
  callers.onFree = () => undefined;
  return phase.answered.length / seconds;
}

/** At a rate, whatever the answers. A request that finds no connection waits for one. */
async function offer(callers: Callers, perSecond: number, seconds: number): Promise<Phase> {
  const phase = callers.begin();
  const total = Math.round(perSecond * seconds);
  let sent = 0;
  const dueAt = (index: number) => phase.startedAt + (index / perSecond) * 1000;
  const sendDue = () => {
    const due = Math.min(total, ((performance.now() - phase.startedAt) / 1000) * perSecond);
    while (sent < due && callers.send(dueAt(sent))) sent++;
  };
  callers.onFree = sendDue;
  const end = phase.startedAt + seconds * 1000;
  // What finds no connection until the end is given up: it was never sent.
  while (sent < total && performance.now() < end) {
    sendDue();
    await delay(1);
  }
  callers.onFree = () => undefined;
  await callers.settle();
  return phase;
}

function quantiles(ms: readonly number[]) {
  return { p50: quantile(ms, 0.5), p99: quantile(ms, 0.99), max: quantile(ms, 1) };
}

const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-overload-"));
const env: Record<string, string> = { TRUSTRANK_DECISIONS_MB_PER_DAY: "131071" };
if (values["queue-ms"] !== "") env["TRUSTRANK_QUEUE_MS_MAX"] = values["queue-ms"];
const service = await startServiceWith(env, dataDir, () => rmSync(dataDir, { recursive: true }));
const url = new URL(service.url);

async function makeKey(label: string): Promise<string> {
  const response = await fetch(`${service.url}/v1/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ tenant: label, scopes: ["score:read"], label }),
  });
  return ((await response.json()) as { key: string }).key;
}

const asked = {
  agent_id: "agent://acme/ledger-sync",
  action: "order.place",
  tool_level: "L1",
  context: {},
};
const items = Number(values.items);
/** Batches: a single verdict costs the service little more than this process pays to ask for it. */
const [route, body] =
  items === 1
    ? ["/v1/trust/verify", asked]
    : ["/v1/trust/verify/batch", { items: Array.from({ length: items }, () => asked) }];
const requestOf = (key: string) => buildRequest(url, route, key, JSON.stringify(body), 1).bytes;
const flood = requestOf(await makeKey("flood"));
const few = await Callers.open(url, Number(values.saturating), flood);
await saturate(few, values.smoke ? 0.2 : 2);
const sustained = await saturate(few, quietSec);
few.close();
const perSecond = values.rate === undefined ? sustained : Number(values.rate);
const crowd = await Callers.open(url, connectionCount, flood);
const other = await Callers.open(url, 1, requestOf(await makeKey("other")));
const others: Record<string, Phase> = {};
async function beside<T>(name: string, work: Promise<T>): Promise<T> {
  others[name] = other.begin();
  let isOver = false;
  const done = work.finally(() => (isOver = true));
  while (!isOver) {
    other.send(performance.now());
    await delay(OTHERS_EVERY_MS);
  }
  await other.settle();
  return done;
}
const before = await beside("before", offer(crowd, perSecond / 2, quietSec));
const cpuBefore = service.cpuSeconds();
const offered = perSecond * Number(values.times);
const over = await beside("over", offer(crowd, offered, overloadSec));
const cpu = service.cpuSeconds() - cpuBefore;
const after = await beside("after", offer(crowd, perSecond / 2, quietSec));

/** p99 of what was answered, by the window in which it was due. */
function byWindow({ answered, answeredAt, startedAt }: Phase, seconds: number): number[] {
  const windows: number[][] = Array.from({ length: (seconds * 1000) / WINDOW_MS }, () => []);
  for (const [index, ms] of answered.entries()) {
    windows[Math.floor((answeredAt[index]! - startedAt) / WINDOW_MS)]?.push(ms);
  }
  return windows.map((window) => quantile(window, 0.99));
}
function summary(phase: Phase) {
  return {
    answered: phase.answered.length,
    turned_away: phase.turnedAway.length,
    failed: phase.failed,
    ms: quantiles(phase.answered),
    turned_away_ms: quantiles(phase.turnedAway),
    generator_late_ms: quantiles(phase.late),
  };
}
const report = {
  bench: "overload",
  machine: machine(),
  connections: connectionCount,
  sustained_per_second: Math.round(perSecond),
  offered_per_second: Math.round(offered),
  offered: Math.round(offered * overloadSec),
  seconds: overloadSec,
  server_cpu_seconds: cpu,
  before: summary(before),
  over: summary(over),
  after: summary(after),
  over_p99_by_quarter_second: byWindow(over, overloadSec),
  after_p99_by_quarter_second: byWindow(after, quietSec),
  other_key: Object.fromEntries(
    Object.entries(others).map(([name, phase]) => [name, summary(phase)]),
  ),
};
crowd.close();
other.close();
await service.stop();
for (const [name, phase] of Object.entries({ before, over, after })) {
  const { p50, p99, max } = quantiles(phase.answered);
  console.error(
    `${name.padEnd(7)} answered ${phase.answered.length} (p50 ${p50}, p99 ${p99}, max ${max} ms), ` +
      `turned away ${phase.turnedAway.length}, failed ${phase.failed}; ` +
      `generator late p99 ${quantiles(phase.late).p99} ms`,
  );
}
console.log(JSON.stringify(report));
