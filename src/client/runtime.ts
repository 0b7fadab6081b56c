// Clock, fetch and timers of the platform. The library has no composition root of its own, its
// users are the root: so the defaults are here, in one file, and everything else takes them as
// arguments.

/** The part of `fetch` that the client uses. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/** Epoch milliseconds; only for times that become evidence. */
export function readWallClockMs(): number {
  return Date.now();
}

/** Monotonic milliseconds; for ages and deadlines. */
export function readMonotonicMs(): number {
  return performance.now();
}

/** A whole number below 2^32, of chance. */
export function createRandomUint32(): number {
  return Math.floor(Math.random() * 0x1_0000_0000);
}

/** Looked up at the call, so that a replaced global (a test, an instrumented runtime) counts. */
export function callGlobalFetch(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, init);
}

/**
 * Loads the platform's `fetch` now. Node compiles it at its first use, which takes longer than a
 * verdict may: that belongs into the start of a process, not into its first question.
 */
export function loadFetch(): void {
  // The getter of this global is what loads it.
  void globalThis.Response;
}

/** An open reply, read piece by piece. */
export interface OpenedStream {
  readonly status: number;
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array>;
}

/** The part of Node's `node:http` and `node:https` that opens a stream. */
interface NodeHttp {
  request(
    url: string,
    options: { headers: object; signal: AbortSignal; agent: false },
    onResponse: (response: NodeReply) => void,
  ): NodeRequest;
}

interface NodeRequest {
  on(event: "error", listener: (error: Error) => void): NodeRequest;
  on(event: "socket", listener: (socket: { unref?(): void }) => void): NodeRequest;
  end(): void;
}

interface NodeReply extends AsyncIterable<Uint8Array> {
  readonly statusCode?: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * Opens a reply that lasts: by `given`, else by Node's own HTTP, whose socket then keeps no process alive,
 * else by the platform's `fetch`. Rejects when there is no reply.
 */
export function openEventStream(
  url: string,
  init: RequestInit & { headers: Readonly<Record<string, string>>; signal: AbortSignal },
  given: FetchLike | undefined,
): Promise<OpenedStream> {
  const { process } = globalThis as { process?: NodeProcess };
  const http = url.startsWith("https:")
    ? process?.getBuiltinModule?.("node:https")
    : process?.getBuiltinModule?.("node:http");
  if (given !== undefined || http === undefined) {
    return openFetchStream(given ?? callGlobalFetch, url, init);
  }
  const { headers, signal } = init;
  return new Promise((resolve, reject) => {
    http
      .request(url, { headers, signal, agent: false }, (response) => {
        const contentType = String(response.headers["content-type"] ?? "");
        resolve({ status: response.statusCode ?? 0, contentType, body: response });
      })
      .on("socket", (socket) => socket.unref?.())
      .on("error", reject)
      .end();
  });
}

async function openFetchStream(
  send: FetchLike,
  url: string,
  init: RequestInit,
): Promise<OpenedStream> {
  const { status, headers, body } = await send(url, init);
  return { status, contentType: headers.get("content-type") ?? "", body: readPieces(body) };
}

async function* readPieces(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- piece by piece
    const piece = await reader?.read();
    if (piece?.value === undefined) return;
    yield piece.value;
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. Never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Calls `run` after `ms`, unless cancelled; keeps no process alive. */
export function scheduleAfter(ms: number, run: () => void): () => void {
  const timer: unknown = setTimeout(run, ms);
  // Browsers have numbers for timers, and no process to keep alive.
  if (typeof timer === "object" && timer !== null && "unref" in timer) {
    (timer as { unref(): void }).unref();
  }
  return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
}

/** The part of Node's `process` that finds installed packages; other runtimes lack it, or parts of it. */
interface NodeProcess {
  readonly argv?: readonly string[];
  cwd?(): string;
  getBuiltinModule?(name: "node:fs"): { readFileSync(path: string, encoding: "utf8"): string };
  getBuiltinModule?(name: "node:http" | "node:https"): NodeHttp;
}

/**
 * Version of the package that the main script of this process gets by that name, else the working
 * directory. Undefined where none is found, and where there is no Node (20.16 or later) to ask.
 */
export function readInstalledVersion(packageName: string): string | undefined {
  const { process } = globalThis as { process?: NodeProcess };
  const files = process?.getBuiltinModule?.("node:fs");
  for (const start of [process?.argv?.[1], process?.cwd?.()]) {
    let folder = start ?? "";
    while (files !== undefined && folder !== "") {
      try {
        const path = `${folder}/node_modules/${packageName}/package.json`;
        return (JSON.parse(files.readFileSync(path, "utf8")) as { version: string }).version;
      } catch {
        folder = folder.slice(0, Math.max(folder.lastIndexOf("/"), folder.lastIndexOf("\\"), 0));
      }
    }
  }
  return undefined;
}

/** A line at error level of the process's console, for operators who gave no callback. */
export function logError(line: string): void {
  // oxlint-disable-next-line no-console
  console.error(line);
}

/** The same at warning level. */
export function logWarning(line: string): void {
  // oxlint-disable-next-line no-console
  console.warn(line);
}
