// Routes about the service itself: liveness, readiness, metrics. Probes need no key, because whoever restarts or drains a process has none; a stranger is told a code and nothing
// else. The detail and the metrics are for the scope `metrics:read`.
import { ServiceFault } from "../../contract/faults.ts";
import { parseSinceMs } from "../../contract/parse/parameters.ts";
import type { Principal } from "../../contract/principal.ts";
import type { ProbeCode } from "../../contract/schemas/service.ts";
import type { Exchange } from "../exchange.ts";
import { renderScrape } from "../metrics/scrape.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

/** Answered by the thread that was asked: another one may be the one that does not live. */
export const LIVENESS_ROUTE: Route = {
  name: "livez",
  method: "GET",
  path: "/livez",
  summary: "Liveness: this thread answers",
  access: "none",
  responses: { 200: { description: "Alive", schema: "Liveness" } },
  isSynchronous: true,
  isFixedFormat: true,
  handle: (exchange) => exchange.document(200, { code: "live" }),
};

export const SERVICE_ROUTES: readonly Route[] = [
  LIVENESS_ROUTE,
  {
    name: "healthz",
    method: "GET",
    path: "/healthz",
    summary: "The process answers; its service id, for signers",
    access: "none",
    responses: { 200: { description: "Alive", schema: "Health" } },
    isSynchronous: true,
    isFixedFormat: true,
    handle: handleHealth,
  },
  {
    name: "readyz",
    method: "GET",
    path: "/readyz",
    summary: "Readiness: journal writable, not saturated, not draining; why not for `metrics:read`",
    access: "none",
    responses: {
      200: { description: "Ready", schema: "Readiness" },
      503: { description: "Not ready", schema: "Readiness" },
    },
    isSynchronous: true,
    isFixedFormat: true,
    handle: handleReadiness,
  },
  {
    name: "metrics",
    method: "GET",
    path: "/metrics",
    summary: "Every metric, as Prometheus text or by `Accept` as OpenMetrics",
    access: "metrics:read",
    responses: { 200: { description: "Metrics", mediaType: "text/plain; version=0.0.4" } },
    isSynchronous: true,
    isFixedFormat: true,
    handle: handleMetrics,
  },
  {
    name: "service_series",
    method: "GET",
    path: "/v1/service/series",
    summary: "The last fifteen minutes by the second, over all threads: verdicts, latency, lag",
    access: "metrics:read",
    query: { since: "Seconds that ended after it: a date-time or epoch ms; all when left out" },
    responses: { 200: { description: "Columns of equal length", schema: "ServiceSeries" } },
    isSynchronous: true,
    handle: handleServiceSeries,
  },
  {
    name: "service_status",
    method: "GET",
    path: "/v1/service/status",
    summary: "The state of every part of the service in one document",
    access: "metrics:read",
    responses: { 200: { description: "As it is now", schema: "ServiceStatus" } },
    isSynchronous: true,
    handle: handleServiceStatus,
  },
];

/** Identity of the service for signers: `aud` of every signature is the service id. */
function handleHealth(exchange: Exchange): Reply {
  const { version, reporters } = exchange.services;
  const known = reporters === undefined ? {} : { service_id: reporters.serviceId };
  return exchange.document(200, { status: "ok", version, ...known });
}

function handleReadiness(exchange: Exchange): Reply {
  const { health, isDraining } = exchange.services;
  const { ready, reasons, warnings = [], stream } = health.isReady();
  const isReady = ready && !isDraining;
  const code: ProbeCode = isDraining ? "draining" : isReady ? "ready" : "not_ready";
  const status = isReady ? 200 : 503;
  const told = { ready: isReady, code };
  if (!mayReadDetail(exchange)) return exchange.document(status, told);
  const detail = { ...told, reasons: isDraining ? [...reasons, "draining"] : reasons };
  return exchange.document(status, {
    ...detail,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(stream === undefined ? {} : { stream }),
  });
}

/**
 * Whether the caller shows a key that may see metrics. A key that is none answers nothing more than
 * no key, but is counted with the others that were refused: probes are no place to try keys.
 */
function mayReadDetail(exchange: Exchange): boolean {
  const { keyring, refusals } = exchange.services;
  const { authorization } = exchange.head;
  if (authorization === undefined) return mayReadMetrics(exchange.principal);
  const principal = keyring.authenticate(authorization);
  if (principal === undefined) {
    refusals?.countRefusal(exchange, "unauthenticated");
    return false;
  }
  return mayReadMetrics(principal);
}

function mayReadMetrics({ scopes }: Principal): boolean {
  return scopes.has("metrics:read") || scopes.has("admin");
}

async function handleMetrics(exchange: Exchange): Promise<Reply> {
  const { contentType, text } = await renderScrape(exchange.services, exchange.head.accept);
  return exchange.text(200, contentType, text);
}

function handleServiceSeries(exchange: Exchange): Reply {
  const { series: kept } = exchange.services;
  if (kept === undefined) throw new ServiceFault("not_found", "this service keeps no series");
  const since = exchange.query.get("since");
  return exchange.document(200, kept.read(since === null ? 0 : parseSinceMs(since)));
}

function handleServiceStatus(exchange: Exchange): Reply {
  const { status: read, health, isDraining } = exchange.services;
  if (read === undefined) throw new ServiceFault("not_found", "this service tells no status");
  const { ready, reasons, warnings = [], stream } = health.isReady();
  return exchange.document(200, {
    ...read(),
    ...(stream === undefined ? {} : { stream }),
    ready: ready && !isDraining,
    reasons: isDraining ? [...reasons, "draining"] : reasons,
    warnings,
  });
}
