// Sink of watched requests on the main thread: lines of the access log, and spans. The SDK behind those is
// loaded only where a collector is named.
import type {
  RequestWatch,
  WatchedBatch,
  WatchedRequest,
  WatchShares,
} from "../../http/request-watch.ts";
import { createRequestWatch } from "../../threads/http/server.ts";
import type { Closer } from "../closers.ts";
import { readPackageVersion } from "../identity.ts";
import type { Log } from "../../platform/log.ts";
import type { Spans } from "../../platform/spans.ts";
import type { WatchConfig } from "../settings/config.ts";

/** Longest that the end waits for spans to be sent. */
const CLOSE_MS_MAX = 2000;
const DROPPED_LOG_INTERVAL_MS = 10_000;
const SERVER_ERROR = 500;
const DECIMALS = 3;

/** Sink of watched requests. */
export interface WatchSink {
  readonly shares: WatchShares;
  /** `thread`: of a further HTTP thread. */
  take(batch: WatchedBatch, thread?: number): void;
  close(): Promise<void>;
}

/** The main thread's own watch, and the sink of all. Undefined where nothing is to be watched. */
export interface RequestWatchParts {
  readonly watch: RequestWatch | undefined;
  readonly watchSink: WatchSink | undefined;
}

/** Opens what the settings ask for, and puts its end on `closers`. */
export async function openRequestWatch(
  config: WatchConfig,
  log: Log,
  clock: () => number,
  closers: Closer[],
): Promise<RequestWatchParts> {
  const sink = await openSink(config, log, readPackageVersion());
  if (sink === undefined) return { watch: undefined, watchSink: undefined };
  const watch = createRequestWatch(sink.shares, clock, (batch) => sink.take(batch));
  closers.push(
    () => sink.close(),
    () => watch.flush(),
  );
  return { watch, watchSink: sink };
}

/** Undefined where nothing is to be watched: then requests pay nothing. */
async function openSink(
  { accessLogShare, traces }: WatchConfig,
  log: Log,
  version: string,
): Promise<WatchSink | undefined> {
  if (accessLogShare === 0 && traces === undefined) return undefined;
  const spans = traces === undefined ? undefined : await openSpansTo(traces.url, log, version);
  const tellDropped = createDroppedRequestLogger(log);
  return {
    shares: { logged: accessLogShare, traced: traces?.shares },
    take({ requests, droppedCount }, thread) {
      const write = () => {
        for (const request of requests)
          if (request.isLogged) writeAccessLogLine(log, request, thread);
      };
      if (log.together === undefined) write();
      else log.together(write);
      if (spans !== undefined) for (const request of requests) addSpan(spans, request);
      tellDropped(droppedCount);
    },
    close: async () => spans?.close(CLOSE_MS_MAX),
  };
}

async function openSpansTo(url: string, log: Log, version: string): Promise<Spans> {
  const { openSpans } = await import("../../platform/spans.ts");
  return openSpans({
    url,
    version,
    onFailure: (detail) => log.warn("traces_not_sent", { detail }),
    onRecovery: () => log.info("traces_sent_again"),
  });
}

function writeAccessLogLine(log: Log, request: WatchedRequest, thread: number | undefined): void {
  log.info("request", {
    thread,
    method: request.method,
    route: request.route,
    status: request.status,
    code: request.code,
    duration_ms: Number(request.durationMs.toFixed(DECIMALS)),
    tenant: request.tenant,
    key_id: request.keyId,
    request_id: request.requestId,
    trace_id: request.traceId || undefined,
  });
}

/** Names are those of OpenTelemetry's conventions for HTTP, where it has one. */
function addSpan(spans: Spans, request: WatchedRequest): void {
  const { spanId, method, routePath, status, code } = request;
  if (spanId === undefined) return;
  spans.add({
    ...request,
    spanId,
    name: routePath === undefined ? method : `${method} ${routePath}`,
    isFailed: status >= SERVER_ERROR,
    attributes: {
      "http.request.method": method,
      "http.route": routePath,
      "http.response.status_code": status,
      "error.type": code ?? (status >= SERVER_ERROR ? String(status) : undefined),
      "trustrank.request_id": request.requestId,
      "trustrank.tenant": request.tenant,
      "trustrank.key_id": request.keyId,
    },
  });
}

/** Adds up, and tells every few seconds at most. */
function createDroppedRequestLogger(log: Log): (count: number) => void {
  let waiting = 0;
  let toldAt = -DROPPED_LOG_INTERVAL_MS;
  return (count) => {
    waiting += count;
    const now = performance.now();
    if (waiting === 0 || now - toldAt < DROPPED_LOG_INTERVAL_MS) return;
    log.warn("requests_not_watched", { count: waiting });
    waiting = 0;
    toldAt = now;
  };
}
