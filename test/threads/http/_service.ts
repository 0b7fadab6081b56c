// Service with two HTTP threads as a process of its own, and connections of a known thread: the
// system distributes them, the metric by thread reveals which has which.
import http from "node:http";
import { startCommand } from "../../cli/_process.ts";
import type { Started } from "../../cli/_process.ts";

export const ADMIN_KEY = "threads-suite-admin-key-0123456789abcdefghij";

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  // What a route answers is what the tests are about: they look into it freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  json: any;
}

export interface Ask {
  method?: string;
  key?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/** One keep-alive connection: all it asks goes to one thread. */
export class Connection {
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  ask(path: string, { method, key = ADMIN_KEY, headers, body }: Ask = {}): Promise<Answer> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const sent = { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers };
    return new Promise((resolve, reject) => {
      const request = http.request(
        this.#url + path,
        {
          agent: this.#agent,
          method: method ?? (payload === undefined ? "GET" : "POST"),
          headers:
            payload === undefined
              ? sent
              : { ...sent, "content-length": Buffer.byteLength(payload) },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (piece: string) => (text += piece));
          response.on("error", reject);
          response.on("end", () => {
            const isJson = /[/+]json\b/.test(response.headers["content-type"] ?? "");
            const json = isJson && text !== "" ? JSON.parse(text) : undefined;
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
          });
        },
      );
      request.on("error", reject);
      request.end(payload);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Requests by thread, as the metrics tell. */
export async function requestsByThread(connection: Connection): Promise<number[]> {
  const { text } = await connection.ask("/metrics");
  const found = text.matchAll(/^trustrank_http_thread_requests_total\{thread="\d+"\} (\d+)$/gm);
  return [...found].map(([, count]) => Number(count));
}

export interface Service {
  started: Started;
  url: string;
}

export async function startThreads(
  dataDir: string,
  environment: Record<string, string> = {},
  tracer: readonly string[] = [],
): Promise<Service> {
  const parameters = ["serve", "--port", "0", "--json", "--http-threads", "2"];
  const own = { TRUSTRANK_ADMIN_KEY: ADMIN_KEY, ...environment };
  const started = startCommand([...parameters, "--data-dir", dataDir], own, tracer);
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { started, url };
}

const CONNECTIONS_MAX = 64;
/** More than the asking itself adds to a thread's count. */
const MARKS = 4;

/** One connection to each thread. That 64 in a row end at one thread is as good as impossible. */
export async function connectToBoth(url: string): Promise<[Connection, Connection]> {
  const found: Connection[] = [];
  for (let count = 0; count < CONNECTIONS_MAX; count++) {
    const connection = new Connection(url);
    const before = await requestsByThread(connection);
    for (let mark = 0; mark < MARKS; mark++) await connection.ask("/healthz");
    const after = await requestsByThread(connection);
    const thread = after.findIndex((requests, index) => requests - before[index]! >= MARKS);
    if (found[thread] === undefined) found[thread] = connection;
    else connection.close();
    if (found[0] !== undefined && found[1] !== undefined) return [found[0], found[1]];
  }
  throw new Error("all connections went to one thread");
}
