// Load generator that costs little beside the server on the same two cores: raw sockets, requests
// built beforehand, replies parsed no further than status and length.
import { connect, type Socket } from "node:net";

/** One request, ready for the socket, and how many outcomes it carries. */
export interface BuiltRequest {
  readonly bytes: Buffer;
  readonly outcomes: number;
}

export interface Tally {
  /** Outcomes acknowledged (or requests answered 2xx, for others). */
  accepted: number;
  refused: number;
  /** Per request, in ms: from when it was due in an open loop, else from when it was sent. */
  latencies: number[];
  /** Per request, in ms, from when it was sent: without the lateness of this process. */
  services: number[];
}

interface Pending {
  outcomes: number;
  startedAt: number;
  sentAt: number;
}

/** Builds a POST with a JSON body. `headers` are whole lines. */
export function buildRequest(
  url: URL,
  path: string,
  key: string,
  body: string,
  outcomes: number,
  headers: readonly string[] = [],
): BuiltRequest {
  const length = Buffer.byteLength(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${url.host}`,
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    `content-length: ${length}`,
    ...headers,
  ];
  return { bytes: Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`), outcomes };
}

/** Splits `replies` off a stream of bytes; replies need a content length. */
class Lane {
  readonly socket: Socket;
  onReply: () => void = () => undefined;
  readonly #tally: Tally;
  readonly #pending: Pending[] = [];
  #rest: Buffer = Buffer.alloc(0);

  constructor(url: URL, tally: Tally) {
    this.#tally = tally;
    this.socket = connect(Number(url.port), url.hostname);
    this.socket.setNoDelay(true);
    this.socket.on("data", (bytes: Buffer) => this.#take(bytes));
  }

  get depth(): number {
    return this.#pending.length;
  }

  send(request: BuiltRequest, startedAt = performance.now()): void {
    this.#pending.push({ outcomes: request.outcomes, startedAt, sentAt: performance.now() });
    this.socket.write(request.bytes);
  }

  #take(bytes: Buffer): void {
    this.#rest = this.#rest.byteLength === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const headEnd = this.#rest.indexOf("\r\n\r\n");
      if (headEnd < 0) return;
      const head = this.#rest.toString("latin1", 0, headEnd).toLowerCase();
      const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
      const end = headEnd + 4 + length;
      if (this.#rest.byteLength < end) return;
      this.#settle(head, this.#rest.subarray(headEnd + 4, end));
      this.#rest = this.#rest.subarray(end);
      this.onReply();
    }
  }

  #settle(head: string, body: Buffer): void {
    const { outcomes, startedAt, sentAt } = this.#pending.shift() as Pending;
    const now = performance.now();
    this.#tally.latencies.push(now - startedAt);
    this.#tally.services.push(now - sentAt);
    const isOk = head.startsWith("http/1.1 2");
    // A batch answers per item; single outcomes by the status line.
    const accepted = !isOk ? 0 : outcomes > 1 ? countOf(body, '"status":201') : 1;
    this.#tally.accepted += accepted;
    this.#tally.refused += outcomes - accepted;
  }
}

function countOf(body: Buffer, text: string): number {
  let count = 0;
  for (let at = body.indexOf(text); at >= 0; at = body.indexOf(text, at + text.length)) count++;
  return count;
}

function openLanes(url: URL, count: number, tally: Tally): Lane[] {
  return Array.from({ length: count }, () => new Lane(url, tally));
}

async function drain(lanes: readonly Lane[]): Promise<void> {
  const until = performance.now() + 10_000;
  while (lanes.some((lane) => lane.depth > 0) && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  for (const lane of lanes) lane.socket.destroy();
}

/** One request outstanding on each lane until all are answered; gives the rate as well. */
export async function closedLoop(
  url: URL,
  requests: readonly BuiltRequest[],
  laneCount: number,
): Promise<Tally & { perSecond: number }> {
  const tally: Tally = { accepted: 0, refused: 0, latencies: [], services: [] };
  const lanes = openLanes(url, laneCount, tally);
  const startedAt = performance.now();
  let next = 0;
  let answered = 0;
  await new Promise<void>((resolve, reject) => {
    const feed = (lane: Lane) => {
      if (next < requests.length) lane.send(requests[next++]!);
    };
    for (const lane of lanes) {
      lane.socket.on("error", reject);
      lane.onReply = () => {
        answered++;
        feed(lane);
        if (answered === requests.length) resolve();
      };
      feed(lane);
    }
  });
  const seconds = (performance.now() - startedAt) / 1000;
  await drain(lanes);
  return { ...tally, perSecond: tally.accepted / seconds };
}

/**
 * Offers requests at a fixed rate, independent of the answers; latency counts from when each was
 * due.
 */
export async function openLoop(
  url: URL,
  request: (index: number) => BuiltRequest,
  perSecond: number,
  seconds: number,
  laneCount: number,
): Promise<Tally> {
  const tally: Tally = { accepted: 0, refused: 0, latencies: [], services: [] };
  const lanes = openLanes(url, laneCount, tally);
  let failure: Error | undefined;
  for (const lane of lanes) lane.socket.on("error", (error) => (failure ??= error));
  const total = Math.round(perSecond * seconds);
  const startedAt = performance.now();
  for (let sent = 0; sent < total;) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1000) * perSecond));
    for (const lane of lanes) {
      if (sent >= due) break;
      if (lane.depth > 0) continue;
      lane.send(request(sent), startedAt + (sent / perSecond) * 1000);
      sent++;
    }
    if (failure !== undefined) throw failure;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await drain(lanes);
  return tally;
}

/** The value below which `share` of `values` lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return Number((sorted[at] ?? Number.NaN).toFixed(2));
}
