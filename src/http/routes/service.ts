// Routes about the service itself: liveness, readiness, metrics. Only liveness is open
// (SPEC §5.3 leaves it open; readiness and metrics reveal too much to a stranger).
import type { Exchange } from "../exchange.ts";
import { renderMetrics, type HealthFigures } from "../metrics.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { countsOf, type ThreadCounts } from "../thread-counts.ts";

export const SERVICE_ROUTES: readonly Route[] = [
  {
    name: "healthz",
    method: "GET",
    path: "/healthz",
    summary: "Liveness: the process answers",
    access: "none",
    responses: { 200: { description: "Alive", schema: "Health" } },
    isSynchronous: true,
    isFixedFormat: true,
    handle: identity,
  },
  {
    name: "readyz",
    method: "GET",
    path: "/readyz",
    summary: "Readiness: config loaded, journal writable, not saturated, not draining",
    access: "key",
    responses: {
      200: { description: "Ready", schema: "Readiness" },
      503: { description: "Not ready, and why", schema: "Readiness" },
    },
    isSynchronous: true,
    isFixedFormat: true,
    handle: readiness,
  },
  {
    name: "metrics",
    method: "GET",
    path: "/metrics",
    summary: "Counters and gauges in Prometheus text format",
    access: "key",
    responses: { 200: { description: "Metrics", mediaType: "text/plain; version=0.0.4" } },
    isSynchronous: true,
    isFixedFormat: true,
    handle: metrics,
  },
];

/** Identity of the service for signers: `aud` of every signature is the service id. */
function identity(exchange: Exchange): Reply {
  const { version, reporters } = exchange.services;
  const known = reporters === undefined ? {} : { service_id: reporters.serviceId };
  return exchange.document(200, { status: "ok", version, ...known });
}

function readiness(exchange: Exchange): Reply {
  const { health, isDraining } = exchange.services;
  const { ready, reasons, warnings = [] } = health.isReady();
  const isReady = ready && !isDraining;
  const allReasons = isDraining ? [...reasons, "draining"] : reasons;
  const document = { ready: isReady, reasons: allReasons };
  return exchange.document(
    isReady ? 200 : 503,
    warnings.length === 0 ? document : { ...document, warnings },
  );
}

function metrics(exchange: Exchange): Reply | Promise<Reply> {
  const { services } = exchange;
  const { allCounts } = services;
  if (allCounts === undefined) return metricsReply(exchange, [countsOf(services)]);
  return allCounts().then((threads) => metricsReply(exchange, threads));
}

function metricsReply(exchange: Exchange, threads: readonly ThreadCounts[]): Reply {
  const { services } = exchange;
  const counts = threads.map((thread) => thread.metrics);
  const health = withGauges(services.healthFigures?.(), threads);
  const text = renderMetrics(services.metrics.routeNames, counts, health);
  return exchange.text(200, "text/plain; version=0.0.4", text);
}

function withGauges(
  health: HealthFigures | undefined,
  threads: readonly ThreadCounts[],
): HealthFigures | undefined {
  if (health === undefined) return undefined;
  const gauges: Record<string, number> = { ...health.gauges };
  for (const thread of threads) {
    for (const [name, value] of Object.entries(thread.gauges ?? {})) {
      gauges[name] = (gauges[name] ?? 0) + value;
    }
  }
  return { ...health, gauges };
}
