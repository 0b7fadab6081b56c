// Plain sockets of the attacks: bytes as they are, on a connection that is kept, with the reply's
// status, headers, body and time. An HTTP client would mend what an attack sends broken.
import { connect, type Socket } from "node:net";
import { stretched } from "../_patience.ts";

/** Longest wait for a reply in ms: beyond the service's own deadlines; longer on a busy machine. */
export const REPLY_MS_MAX = stretched(40_000);

export interface WireReply {
  readonly status: number;
  /** Names in lower case; the last line of a name counts. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** From the last byte sent to the last byte of the reply, in ms. */
  readonly ms: number;
}

/** Reasons why no reply came. */
export type NoReply = "closed" | "silent";

interface Waiting {
  readonly method: string;
  readonly startedAt: number;
  readonly settle: (reply: WireReply | NoReply) => void;
}

/** One connection that is opened again when the service has closed it. One request at a time. */
export class Wire {
  readonly #host: string;
  readonly #port: number;
  #socket: Socket | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #waiting: Waiting | undefined;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#host = hostname;
    this.#port = Number(port);
  }

  /**
   * Sends bytes and waits for one reply: `closed` when the connection ended without one, `silent`
   * when it stayed open and nothing came. Rejects only when nobody listens any more.
   */
  async send(
    bytes: Uint8Array | string,
    { method = "POST", waitMs = REPLY_MS_MAX } = {},
  ): Promise<WireReply | NoReply> {
    const socket = this.#socket ?? (await this.#open());
    return new Promise((resolve) => {
      const settle = (reply: WireReply | NoReply) => {
        clearTimeout(timer);
        this.#waiting = undefined;
        // What may still come belongs to no request.
        if (typeof reply === "string" || reply.headers.get("connection") === "close") this.close();
        resolve(reply);
      };
      const timer = setTimeout(settle, waitMs, "silent");
      this.#waiting = { method, startedAt: performance.now(), settle };
      socket.write(bytes);
    });
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#rest = Buffer.alloc(0);
  }

  async #open(): Promise<Socket> {
    const socket = connect(this.#port, this.#host);
    socket.setNoDelay(true);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    socket.on("error", () => undefined);
    socket.on("data", (piece: Buffer) => this.#take(piece));
    socket.on("close", () => {
      if (this.#socket === socket) this.#gone();
    });
    this.#socket = socket;
    return socket;
  }

  #gone(): void {
    const waiting = this.#waiting;
    this.close();
    waiting?.settle("closed");
  }

  #take(piece: Buffer): void {
    this.#rest = this.#rest.byteLength === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const found = readReply(this.#rest, waiting.method === "HEAD");
    if (found === undefined) return;
    this.#rest = this.#rest.subarray(found.end);
    const { status, headers, body } = found;
    if (status === 100) return this.#take(Buffer.alloc(0));
    waiting.settle({ status, headers, body, ms: performance.now() - waiting.startedAt });
  }
}

interface ReadReply {
  status: number;
  headers: Map<string, string>;
  body: Buffer;
  end: number;
}

/** The first reply of a stream of bytes once it is whole. */
function readReply(bytes: Buffer, isHead: boolean): ReadReply | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [line = "", ...rest] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const headers = new Map(
    rest.map((each) => {
      const colon = each.indexOf(":");
      return [each.slice(0, colon).toLowerCase(), each.slice(colon + 1).trim()];
    }),
  );
  const status = Number(line.split(" ")[1]);
  const from = headEnd + 4;
  if (headers.get("transfer-encoding") === "chunked" && !isHead) {
    const chunks = readChunks(bytes, from);
    return chunks === undefined ? undefined : { status, headers, ...chunks };
  }
  const end = from + (isHead ? 0 : Number(headers.get("content-length") ?? 0));
  if (bytes.byteLength < end) return undefined;
  return { status, headers, body: bytes.subarray(from, end), end };
}

function readChunks(bytes: Buffer, from: number): { body: Buffer; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const length = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const begin = lineEnd + 2;
    const end = begin + length + 2;
    if (bytes.byteLength < end) return undefined;
    if (length === 0) return { body: Buffer.concat(parts), end };
    parts.push(bytes.subarray(begin, begin + length));
    at = end;
  }
}

export interface WireRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
}

/** The bytes of a request; the length is set where there is a body, and on every POST. */
export function requestBytes({ method, path, key, headers = {}, body }: WireRequest): Buffer {
  const payload = typeof body === "string" ? Buffer.from(body) : (body ?? Buffer.alloc(0));
  const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost"];
  if (key !== undefined) lines.push(`Authorization: Bearer ${key}`);
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined || !["GET", "HEAD"].includes(method)) {
    lines.push(`Content-Length: ${payload.byteLength}`);
  }
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return Buffer.concat([head, payload]);
}

/** A socket that is open, for attacks that say nothing or say it slowly; errors are ignored. */
export async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => undefined);
  return socket;
}
