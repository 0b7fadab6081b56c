// Client of a running server for a command, when the server holds the data directory. Every problem
// in an answer becomes one sentence and exit code 1.
import { type FetchLike, callGlobalFetch } from "../client/runtime.ts";
import { socketFetch } from "../client/socket-fetch.ts";
import type { ServerAccess } from "../service/settings/config.ts";
import type { Problem } from "../contract/schemas/service.ts";
import { CommandFailure } from "../service/failure.ts";

const TIMEOUT_MS = 60_000;

export interface ServerRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly accept?: string;
  /** Longest time for the whole answer; a minute where it is left out. */
  readonly timeoutMs?: number;
}

/** One server and the key to talk to it. */
export class ServerClient {
  readonly url: string;
  readonly #address: ServerAddress;
  readonly #key: string;

  /** @throws CommandFailure when there is no key. */
  constructor(url: string, access: ServerAccess) {
    if (access.key === undefined) {
      throw new CommandFailure(
        `the server at ${url} asks for a key: give --key or set TRUSTRANK_KEY`,
      );
    }
    this.#address = parseServerAddress(url);
    this.url = url.replace(/\/+$/, "");
    this.#key = access.key;
  }

  /**
   * Sends a request; resolves with the body of a successful answer.
   * @throws CommandFailure for every other answer.
   */
  async send(request: ServerRequest): Promise<string> {
    return (await this.open(request)).text();
  }

  /** The same for a file. */
  async fetchBytes(path: string): Promise<Uint8Array> {
    const response = await this.open({ method: "GET", path });
    return new Uint8Array(await response.arrayBuffer());
  }

  /** The same for an answer that the caller reads, and whose headers. */
  async open(request: ServerRequest): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#key}` };
    if (request.body !== undefined) headers["content-type"] = request.contentType!;
    if (request.accept !== undefined) headers["accept"] = request.accept;
    let response: Response;
    try {
      response = await this.#address.fetch(this.#address.base + request.path, {
        method: request.method,
        headers,
        body: request.body ?? null,
        signal: AbortSignal.timeout(request.timeoutMs ?? TIMEOUT_MS),
      });
    } catch (error) {
      const cause = (error as Error).cause ?? error;
      throw new CommandFailure(`no answer from ${this.url}: ${(cause as Error).message}`);
    }
    if (!response.ok) {
      throw new CommandFailure(this.#refusal(response, await response.text()));
    }
    return response;
  }

  /** The same for JSON in and out. */
  async sendJson<T>(method: ServerRequest["method"], path: string, body?: unknown): Promise<T> {
    const sent =
      body === undefined ? {} : { contentType: "application/json", body: JSON.stringify(body) };
    return JSON.parse(await this.send({ method, path, ...sent })) as T;
  }

  #refusal(response: Response, text: string): string {
    const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json");
    if (!isProblem) return `${this.url} answered ${response.status}`;
    const problem = JSON.parse(text) as Problem;
    return `${this.url} answered ${problem.status} ${problem.code}: ${problem.detail}`;
  }
}

export interface ServerAddress {
  /** What requests begin with. */
  readonly base: string;
  readonly fetch: FetchLike;
  /** Path of the socket, where it is one. */
  readonly socket: string | undefined;
}

export function parseServerAddress(url: string): ServerAddress {
  const socket = /^unix:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
  if (socket === undefined) {
    return { base: url.replace(/\/+$/, ""), fetch: callGlobalFetch, socket };
  }
  return { base: "http://localhost", fetch: socketFetch(socket), socket };
}
