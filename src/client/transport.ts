// One request and its reply: the time limit over everything up to the last byte of the body,
// bounds, media types, and every fault as one TrustRankError. No retry: on the hot path a second
// attempt at one node only makes the first one's outage longer. Several nodes: nodes/fail-over.ts.
import type { FaultCode } from "../contract/faults.ts";
import type { Problem } from "./messages.ts";
import { TrustRankError } from "./errors.ts";
import { type FetchLike, readMonotonicMs } from "./runtime.ts";

export interface TransportOptions {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly fetch: FetchLike;
}

export interface SendOptions {
  /** Over connecting, the reply's head and its whole body. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What fail-over may do with it; `write` unless given. */
  readonly kind?: CallKind | undefined;
  /** The agent that it is about: the same node is asked about it each time. */
  readonly agentId?: string | undefined;
}

/**
 * `read`: any node may be asked, two at once too. `wait`: a read that lasts. `identified`: a write
 * that counts once however often it comes. `write`: sent again only if it was certainly not sent.
 */
export type CallKind = "read" | "wait" | "identified" | "write";
export type HttpMethod = "DELETE" | "GET" | "PATCH" | "POST" | "PUT";

/** The way to a service of one node or of several. */
export interface RequestSender {
  /** Posts JSON text; see `send`. */
  post(path: string, body: string, options: SendOptions): Promise<JsonReply>;
  /**
   * Sends JSON text, or nothing.
   * @throws TrustRankError when there is no document.
   */
  send(
    method: HttpMethod,
    path: string,
    body: string | undefined,
    options: SendOptions,
  ): Promise<JsonReply>;
  /** Opens connections; false when nobody answered. */
  reach(options: SendOptions): Promise<boolean>;
}

/** A reply that is a document, whatever its status. */
export interface JsonReply {
  readonly status: number;
  readonly value: unknown;
}

/** The largest reply: a batch of 1,000 verdicts, with a margin. */
const REPLY_BYTES_MAX = 4 * 1024 * 1024;
/** A timer that comes later than this was held up by its own process. */
const TIMER_LATENESS_MS = 5;
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;
const PROBLEM_TYPE = /^application\/problem\+json\s*(?:;|$)/i;
const SECONDS = /^[0-9]{1,9}$/;

export class Transport implements RequestSender {
  readonly #base: string;
  /** For messages: the rest of an address may be a secret. */
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: FetchLike;

  constructor(options: TransportOptions) {
    this.#base = options.baseUrl.replace(/\/+$/, "");
    this.#origin = parseOrigin(options.baseUrl);
    const accept = "application/json, application/problem+json";
    this.#headers = {
      "Content-Type": "application/json",
      Accept: accept,
      ...(options.apiKey === undefined ? {} : { Authorization: `Bearer ${options.apiKey}` }),
    };
    this.#fetch = options.fetch;
  }

  post(path: string, body: string, options: SendOptions): Promise<JsonReply> {
    return this.send("POST", path, body, options);
  }

  async reach(options: SendOptions): Promise<boolean> {
    try {
      await this.send("GET", "/healthz", undefined, options);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Sends JSON text, or nothing. Resolves with any reply that is `application/json`, a 403 with a
   * verdict included.
   * @throws TrustRankError for problem documents, network faults and timeouts.
   */
  async send(
    method: HttpMethod,
    path: string,
    body: string | undefined,
    options: SendOptions,
  ): Promise<JsonReply> {
    const { signal, timeoutMs } = options;
    if (signal?.aborted === true) throw createAbortError(signal);
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let onAbort: (() => void) | undefined;
    // Raced, not only signalled: a `fetch` that ignores its signal must not make a call late.
    const interrupted = new Promise<never>((_resolve, reject) => {
      const stop = (error: TrustRankError) => {
        reject(error);
        controller.abort(error);
      };
      const late = () => stop(new TrustRankError("timeout", `no answer within ${timeoutMs} ms`));
      const startedMs = readMonotonicMs();
      timer = setTimeout(() => {
        // In a process that was busy, what has come in by now is looked at only after the timers: one
        // more turn, and a refused connection is no timeout.
        const wasBusy = readMonotonicMs() - startedMs > timeoutMs + TIMER_LATENESS_MS;
        if (wasBusy) timer = setTimeout(late, 0);
        else late();
      }, timeoutMs);
      onAbort = () => stop(createAbortError(signal as AbortSignal));
      signal?.addEventListener("abort", onAbort, { once: true });
    });
    try {
      const init: RequestInit = {
        method,
        headers: { ...this.#headers, ...options.headers },
        ...(body === undefined ? {} : { body }),
        signal: controller.signal,
        // A redirected verdict comes from another service.
        redirect: "manual",
      };
      return await Promise.race([this.#fetchJson(this.#base + path, init), interrupted]);
    } catch (thrown) {
      // Closes a half-read body, so that no fault leaves a socket behind.
      controller.abort();
      throw convertToTransportError(thrown, this.#origin);
    } finally {
      clearTimeout(timer);
      if (onAbort !== undefined) signal?.removeEventListener("abort", onAbort);
    }
  }

  async #fetchJson(url: string, init: RequestInit): Promise<JsonReply> {
    const response = await this.#fetch(url, init);
    const { status } = response;
    const type = response.headers.get("content-type") ?? "";
    if (PROBLEM_TYPE.test(type)) throw createProblemError(response, await readJsonBody(response));
    if (!JSON_TYPE.test(type))
      throw createUnexpectedReplyError(response, `status ${status} without a document`);
    const isAnswer = (status >= 200 && status < 300) || status === 403;
    if (!isAnswer) throw createUnexpectedReplyError(response, `status ${status} is no answer`);
    return { status, value: await readJsonBody(response) };
  }
}

/** The error for a reply whose document is not that of the route. */
export function createMalformedReplyError(detail: string, cause?: unknown): TrustRankError {
  return new TrustRankError("malformed_reply", detail, { cause });
}

async function readJsonBody(response: Response): Promise<unknown> {
  const text = await readBodyText(response);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new TrustRankError("malformed_reply", "the reply is not JSON", {
      cause,
      status: response.status,
    });
  }
}

async function readBodyText(response: Response): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
    if (bytes > REPLY_BYTES_MAX) throw createMalformedReplyError("the reply is too long");
    text += decodeUtf8(decoder, value);
  }
  return text + decodeUtf8(decoder);
}

function decodeUtf8(
  decoder: InstanceType<typeof TextDecoder>,
  bytes?: Uint8Array<ArrayBuffer>,
): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw createMalformedReplyError("the reply is not UTF-8", cause);
  }
}

function createProblemError(response: Response, value: unknown): TrustRankError {
  const { status, headers } = response;
  const error = parseProblemError(value, status, parseRetryAfterMs(headers));
  return error ?? createUnexpectedReplyError(response, `status ${status}`);
}

/** The error of a problem document; undefined when it is none. */
export function parseProblemError(
  value: unknown,
  status: number,
  retryAfter?: number,
): TrustRankError | undefined {
  const problem = (typeof value === "object" && value !== null ? value : {}) as Partial<Problem>;
  const { code, detail, title, request_id, errors } = problem;
  if (typeof code !== "string") return undefined;
  const text = typeof detail === "string" ? detail : typeof title === "string" ? title : code;
  return new TrustRankError(code as FaultCode, text, {
    status,
    retryAfterMs: retryAfter,
    requestId: typeof request_id === "string" ? request_id : undefined,
    errors: Array.isArray(errors) ? errors : [],
  });
}

function createUnexpectedReplyError(response: Response, detail: string): TrustRankError {
  return new TrustRankError("unexpected_status", detail, {
    status: response.status,
    retryAfterMs: parseRetryAfterMs(response.headers),
  });
}

/** `Retry-After` in seconds; its date form would need a clock shared with the service. */
function parseRetryAfterMs(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  return text !== null && SECONDS.test(text) ? Number(text) * 1000 : undefined;
}

function createAbortError(signal: AbortSignal): TrustRankError {
  return new TrustRankError("aborted", "the caller gave up", { cause: signal.reason });
}

function parseOrigin(address: string): string {
  try {
    return new URL(address).origin;
  } catch (cause) {
    throw new TrustRankError("invalid_argument", "`baseUrl` is not an address", { cause });
  }
}

function convertToTransportError(thrown: unknown, origin: string): TrustRankError {
  if (thrown instanceof TrustRankError) return thrown;
  const why = findSystemErrorCode(thrown);
  const detail = `the service at ${origin} cannot be reached${why === "" ? "" : ` (${why})`}`;
  return new TrustRankError("unreachable", detail, { cause: thrown });
}

/** `ECONNREFUSED` and the like, which `fetch` of Node and Bun keeps one or two levels down. */
export function findSystemErrorCode(thrown: unknown): string {
  for (let each = thrown; each instanceof Error; each = each.cause) {
    const code: unknown = Reflect.get(each, "code");
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code)) return code;
  }
  return "";
}
