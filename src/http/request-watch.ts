// Observation of a sampled share of the requests, for the access log and for traces. Created only when one of the
// two is enabled. Each serving thread has its own and sends batches to the main thread, which owns log and exporter.
import { randomFillSync } from "node:crypto";
import type { Exchange } from "./exchange.ts";
import { parseTraceContext, type TraceContext } from "./codec/trace-context.ts";
import type { Reply, RequestHead } from "./server/port.ts";
import type { Principal } from "../contract/principal.ts";

/** Which requests are watched. Data: it crosses to other threads. */
export interface WatchShares {
  /** Share of the requests that have a line in the access log, 0 to 1. */
  readonly logged: number;
  readonly traced?: TracedShare | undefined;
}

export interface TracedShare {
  /** Of requests that nobody has decided about. */
  readonly share: number;
  /** Whether a caller's own decision counts. */
  readonly isParentBased: boolean;
}

/** A watched request that has been answered. Data: it crosses to the main thread. */
export interface WatchedRequest {
  readonly isLogged: boolean;
  /** Id of its span, where it is to be told to the collector. */
  readonly spanId: string | undefined;
  readonly parentId: string | undefined;
  /** Of the caller or, where it is the first span, its own; empty for none. */
  readonly traceId: string;
  /** Epoch ms. */
  readonly startedMs: number;
  readonly durationMs: number;
  readonly method: string;
  readonly route: string;
  /** Path of the route with its parameters' names; undefined where none matched. */
  readonly routePath: string | undefined;
  readonly status: number;
  /** Of the problem that answered it. */
  readonly code: string | undefined;
  readonly tenant: string | undefined;
  readonly keyId: string | undefined;
  readonly requestId: string;
}

/** What a thread hands on at once. */
export interface WatchedBatch {
  readonly requests: readonly WatchedRequest[];
  /** Watched requests that were too many to hand on. */
  readonly droppedCount: number;
}

/** A request under watch. */
export interface RequestObservation {
  readonly isLogged: boolean;
  readonly spanId: string | undefined;
  readonly parentId: string | undefined;
  readonly startedMs: number;
  readonly startedAt: number;
}

export interface RequestWatchOptions {
  readonly shares: WatchShares;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly monotonic: () => number;
  /** A number drawn evenly from 0 to 1, without 1. */
  readonly random: () => number;
  readonly deliver: (batch: WatchedBatch) => void;
}

/** Requests that are handed on together at most, and the longest that one waits for others. */
const BATCH_REQUESTS_MAX = 64;
const BATCH_DELAY_MS = 100;
/** Watched requests that one thread hands on in a second; the main thread has other work. */
export const WATCHED_PER_SECOND_MAX = 10_000;
const MS_PER_SECOND = 1000;
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const UINT32_MAX = 0xffff_ffff;

export class RequestWatch {
  readonly #options: RequestWatchOptions;
  #batch: WatchedRequest[] = [];
  #droppedCount = 0;
  #timer: NodeJS.Timeout | undefined;
  #second = 0;
  #ofSecond = 0;

  constructor(options: RequestWatchOptions) {
    this.#options = options;
  }

  /** Called with every request, before anything is asked of it. */
  begin(exchange: Exchange): void {
    const watching = this.#startObserving(exchange.head);
    if (watching === undefined) return;
    exchange.watching = watching.watching;
    exchange.traceId = watching.traceId;
  }

  /** Called with every answer. */
  end(exchange: Exchange, reply: Reply): void {
    const { watching, principal, requestId, traceId } = exchange;
    if (watching === undefined) return;
    exchange.watching = undefined;
    const { routes } = exchange.services;
    const { method } = exchange.head;
    const named = { principal, requestId, traceId, routeIndex: exchange.routeIndex };
    this.#take({ watching, method, ...named }, routes, reply);
  }

  /** Called with a request that was answered before it became an exchange. */
  endAtOnce(head: RequestHead, routes: ObservedRoutes, named: AnsweredRequest, reply: Reply): void {
    const begun = this.#startObserving(head);
    if (begun === undefined) return;
    const { watching, traceId } = begun;
    this.#take({ ...named, watching, method: head.method, traceId }, routes, reply);
  }

  /** Hands on what waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#batch.length === 0 && this.#droppedCount === 0) return;
    const batch = { requests: this.#batch, droppedCount: this.#droppedCount };
    this.#batch = [];
    this.#droppedCount = 0;
    this.#options.deliver(batch);
  }

  #startObserving(
    head: RequestHead,
  ): { watching: RequestObservation; traceId: string } | undefined {
    const { shares, random, clock, monotonic } = this.#options;
    const isLogged = shares.logged > 0 && random() < shares.logged;
    const { traced } = shares;
    if (!isLogged && traced === undefined) return undefined;
    const context = parseTraceContext(head.traceparent);
    let traceId = context?.traceId ?? "";
    let spanId: string | undefined;
    if (traced !== undefined) {
      const id = context?.traceId ?? generateHexId(TRACE_BYTES);
      if (shouldTrace(traced, context, id)) {
        traceId = id;
        spanId = generateHexId(SPAN_BYTES);
      }
    }
    if (!isLogged && spanId === undefined) return undefined;
    const began = { startedMs: clock(), startedAt: monotonic() };
    return { traceId, watching: { isLogged, spanId, parentId: context?.parentId, ...began } };
  }

  #take(observed: ObservedRequest, routes: ObservedRoutes, reply: Reply): void {
    const { startedAt, ...begun } = observed.watching;
    const endedAt = this.#options.monotonic();
    if (!this.#hasRoom(endedAt)) {
      this.#droppedCount += 1;
      return;
    }
    const { keyId, tenant } = observed.principal;
    const route = routes[observed.routeIndex];
    this.#batch.push({
      ...begun,
      traceId: observed.traceId,
      durationMs: endedAt - startedAt,
      method: METHODS.has(observed.method) ? observed.method : "_OTHER",
      route: route?.name ?? "unmatched",
      routePath: route?.path,
      status: reply.status,
      code: readProblemCode(reply),
      tenant: tenant || undefined,
      keyId: keyId || undefined,
      requestId: observed.requestId,
    });
    if (this.#batch.length >= BATCH_REQUESTS_MAX) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), BATCH_DELAY_MS).unref();
  }

  #hasRoom(now: number): boolean {
    const second = Math.trunc(now / MS_PER_SECOND);
    if (second !== this.#second) {
      this.#second = second;
      this.#ofSecond = 0;
    }
    this.#ofSecond += 1;
    return this.#ofSecond <= WATCHED_PER_SECOND_MAX;
  }
}

type ObservedRoutes = Exchange["services"]["routes"];

/** What is known of a request when it is answered. */
interface AnsweredRequest {
  readonly principal: Pick<Principal, "keyId" | "tenant">;
  readonly requestId: string;
  readonly traceId: string;
  readonly routeIndex: number;
}

interface ObservedRequest extends AnsweredRequest {
  readonly watching: RequestObservation;
  readonly method: string;
}

function shouldTrace(
  traced: TracedShare,
  context: TraceContext | undefined,
  traceId: string,
): boolean {
  if (traced.isParentBased && context !== undefined) return context.isSampled;
  return isTraceSampled(traceId, traced.share);
}

/** The choice that every OpenTelemetry SDK for JavaScript makes by the same id and share. */
export function isTraceSampled(traceId: string, share: number): boolean {
  if (share >= 1) return true;
  let sum = 0;
  for (let at = 0; at < 2 * TRACE_BYTES; at += 8) {
    sum ^= Number.parseInt(traceId.slice(at, at + 8), 16);
  }
  return sum >>> 0 < Math.floor(share * UINT32_MAX);
}

function generateHexId(bytes: number): string {
  return randomFillSync(Buffer.allocUnsafe(bytes)).toString("hex");
}

/** Code of a problem; other answers have none. */
function readProblemCode({ status, body }: Reply): string | undefined {
  if (status < 400 || typeof body !== "string") return undefined;
  try {
    const { code } = JSON.parse(body) as { code?: unknown };
    return typeof code === "string" ? code : undefined;
  } catch {
    return undefined;
  }
}
