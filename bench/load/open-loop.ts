// Open loop, corrected for coordinated omission: each request has a time at which it is due, whatever
// became of those before, and its latency counts from then. A request that finds no free connection
// waits for one, and its wait counts; one that was due and never sent counts with the time it had
// waited. Latencies go into HDR histograms, in microseconds.
import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { build, encodeIntoCompressedBase64 as encoded, type Histogram } from "hdr-histogram-js";

/** What is offered. All of it can be sent to another process. */
export interface Plan {
  readonly url: string;
  readonly route: string;
  readonly key: string;
  /** Sent in turn; `#n#` in a body becomes the number of the request. */
  readonly bodies: readonly string[];
  readonly perSecond: number;
  readonly seconds: number;
  readonly connections: number;
  /** Looks at the clock without a pause, at the price of a core; else each millisecond. */
  readonly isSpinning: boolean;
}

/** Counts, and times in microseconds. Histograms are V2, compressed, base64. */
export interface Offered {
  readonly offered: number;
  readonly answered: number;
  /** Answers of status 503: the service has said that it is too busy. */
  readonly turnedAway: number;
  /** Everything else that is no answer, by what it was. */
  readonly errors: Readonly<Record<string, number>>;
  /** Due, but no connection was free until the end. */
  readonly unsent: number;
  readonly seconds: number;
  /** From when a request was due to the end of its answer. */
  readonly corrected: string;
  /** From when it was written: without what it waited for a connection, or for this process. */
  readonly service: string;
  /** Lateness of this process: a connection was free, the request still unwritten. */
  readonly lateness: string;
  /** Share of the time in which this process was not idle. */
  readonly busy: number;
}

const US_MAX = 60_000_000;
const DRAIN_MS_MAX = 10_000;
const DIALS_AT_ONCE = 50;
const STATUS_AT = "HTTP/1.1 ".length;
const ANSWERED = /^2\d\d$/;
const TURNED_AWAY = "503";
const HEAD_END = "\r\n\r\n";

/** Of microseconds from 1 to a minute, three digits exact. */
export function histogram(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: US_MAX,
    numberOfSignificantValueDigits: 3,
    useWebAssembly: false,
  });
}

function record(into: Histogram, ms: number): void {
  into.recordValue(Math.min(US_MAX, Math.max(1, Math.round(ms * 1000))));
}

interface Connection {
  readonly socket: Socket;
  dueAt: number;
  sentAt: number;
  isBusy: boolean;
  /** Of a reply that comes in pieces. */
  pieces: Buffer[];
}

/** Status and length of a reply whose head is complete; undefined before. */
export function headOf(bytes: Buffer): { status: string; length: number } | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = bytes.toString("latin1", 0, headEnd);
  const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  return {
    status: head.slice(STATUS_AT, STATUS_AT + 3),
    length: headEnd + HEAD_END.length + length,
  };
}

/** One run of a plan. `stop` ends it early; what is then due is not offered any more. */
export class OpenLoop {
  readonly #plan: Plan;
  readonly #heads: readonly [string, string];
  readonly #fixed: readonly Buffer[] | undefined;
  readonly #connections: Connection[] = [];
  /** First in, first out: all connections take part, on whatever thread they were accepted. */
  readonly #free: Connection[] = [];
  readonly #corrected = histogram();
  readonly #service = histogram();
  readonly #lateness = histogram();
  readonly #errors: Record<string, number> = {};
  #answered = 0;
  #turnedAway = 0;
  #sent = 0;
  #startedAt = 0;
  #freeSince = 0;
  #stoppedAt = Infinity;
  #isOver = false;

  constructor(plan: Plan) {
    this.#plan = plan;
    const { host } = new URL(plan.url);
    const lines = [
      `POST ${plan.route} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${plan.key}`,
      "content-type: application/json",
      "content-length: ",
    ];
    this.#heads = [lines.join("\r\n"), HEAD_END];
    const isNumbered = plan.bodies.some((body) => body.includes("#n#"));
    this.#fixed = isNumbered ? undefined : plan.bodies.map((body) => this.#bytesOf(body));
  }

  #bytesOf(body: string): Buffer {
    const [head, end] = this.#heads;
    return Buffer.from(`${head}${Buffer.byteLength(body)}${end}${body}`);
  }

  #request(index: number): Buffer {
    const at = index % this.#plan.bodies.length;
    return (
      this.#fixed?.[at] ??
      this.#bytesOf(this.#plan.bodies[at]!.replaceAll("#n#", () => String(index)))
    );
  }

  stop(): void {
    this.#sendDue();
    this.#stoppedAt = performance.now();
    this.#isOver = true;
  }

  async run(): Promise<Offered> {
    const { connections, perSecond, seconds, isSpinning } = this.#plan;
    for (let open = 0; open < connections; open += DIALS_AT_ONCE) {
      const count = Math.min(DIALS_AT_ONCE, connections - open);
      await Promise.all(Array.from({ length: count }, () => this.#connect()));
    }
    const total = Math.round(perSecond * seconds);
    const idle = performance.eventLoopUtilization();
    this.#startedAt = this.#freeSince = performance.now();
    const endsAt = this.#startedAt + seconds * 1000;
    while (!this.#isOver && performance.now() < endsAt) {
      this.#sendDue();
      await new Promise<void>((resolve) => {
        if (isSpinning) setImmediate(resolve);
        else setTimeout(resolve, 1);
      });
    }
    // Late for the last of them, as for any other.
    this.#sendDue();
    const endedAt = Math.min(endsAt, this.#stoppedAt);
    const busy = performance.eventLoopUtilization(idle).utilization;
    const offered = Math.min(total, this.#dueUntil(endedAt));
    this.#isOver = true;
    for (let index = this.#sent; index < offered; index++) {
      record(this.#corrected, endedAt - this.#dueAt(index));
    }
    await this.#drain();
    return {
      offered,
      answered: this.#answered,
      turnedAway: this.#turnedAway,
      errors: this.#errors,
      unsent: Math.max(0, offered - this.#sent),
      seconds: (endedAt - this.#startedAt) / 1000,
      corrected: encoded(this.#corrected),
      service: encoded(this.#service),
      lateness: encoded(this.#lateness),
      busy,
    };
  }

  #dueAt(index: number): number {
    return this.#startedAt + (index / this.#plan.perSecond) * 1000;
  }

  /** How many are due by then. */
  #dueUntil(now: number): number {
    return Math.floor(((now - this.#startedAt) / 1000) * this.#plan.perSecond) + 1;
  }

  #sendDue(): void {
    if (this.#isOver || this.#startedAt === 0) return;
    const now = performance.now();
    const total = Math.round(this.#plan.perSecond * this.#plan.seconds);
    const due = Math.min(total, this.#dueUntil(now));
    while (this.#sent < due) {
      const connection = this.#free.shift();
      if (connection === undefined) return;
      connection.dueAt = this.#dueAt(this.#sent);
      connection.sentAt = performance.now();
      connection.isBusy = true;
      record(this.#lateness, connection.sentAt - Math.max(connection.dueAt, this.#freeSince));
      connection.socket.write(this.#request(this.#sent));
      this.#sent++;
    }
  }

  #connect(): Promise<void> {
    const { hostname, port } = new URL(this.#plan.url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, resolve);
      const connection = { socket, dueAt: 0, sentAt: 0, isBusy: false, pieces: [] };
      socket.setNoDelay(true);
      socket.on("error", reject);
      socket.on("close", () => this.#lose(connection));
      socket.on("data", (bytes: Buffer) => this.#take(connection, bytes));
      this.#connections.push(connection);
      this.#free.push(connection);
    });
  }

  /** A connection that the other side has closed is not opened again: its request is an error. */
  #lose(connection: Connection): void {
    const at = this.#free.indexOf(connection);
    if (at >= 0) this.#free.splice(at, 1);
    if (connection.isBusy || !this.#isOver) this.#fail(connection, "closed");
  }

  #fail(connection: Connection, what: string): void {
    this.#errors[what] = (this.#errors[what] ?? 0) + 1;
    connection.isBusy = false;
  }

  #take(connection: Connection, bytes: Buffer): void {
    const whole =
      connection.pieces.length === 0 ? bytes : Buffer.concat([...connection.pieces, bytes]);
    const head = headOf(whole);
    if (head === undefined || whole.byteLength < head.length) {
      connection.pieces = [whole];
      return;
    }
    connection.pieces = [];
    const now = performance.now();
    if (ANSWERED.test(head.status)) {
      this.#answered++;
      record(this.#corrected, now - connection.dueAt);
      record(this.#service, now - connection.sentAt);
    } else if (head.status === TURNED_AWAY) this.#turnedAway++;
    else this.#fail(connection, head.status);
    connection.isBusy = false;
    if (this.#free.length === 0) this.#freeSince = now;
    this.#free.push(connection);
    this.#sendDue();
  }

  /** What has no answer by its end is an error, with the time that it had waited. */
  async #drain(): Promise<void> {
    const until = performance.now() + DRAIN_MS_MAX;
    const isBusy = () => this.#connections.some((each) => each.isBusy);
    while (isBusy() && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    for (const connection of this.#connections) {
      if (connection.isBusy) {
        record(this.#corrected, performance.now() - connection.dueAt);
        this.#fail(connection, "unanswered");
      }
      connection.socket.removeAllListeners("close");
      connection.socket.destroy();
    }
  }
}
