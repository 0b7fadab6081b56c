// One scrape: the counts of all serving threads and the figures of the rest of the service, as text.
import { type Exposition, renderMetrics } from "../../platform/prometheus.ts";
import type { HttpServices } from "../services.ts";
import { collectThreadCounts } from "../thread-counts.ts";
import { buildMetricFamilies, addThreadValues } from "./figures.ts";
import { collectRequestMetrics } from "./requests.ts";

/** What a scrape needs of the services. */
export type ScrapeSources = Pick<
  HttpServices,
  "allCounts" | "figures" | "metrics" | "usage" | "pendingCount"
>;

/** `accept` is the scraper's header: it chooses between OpenMetrics and Prometheus text. */
export async function renderScrape(
  services: ScrapeSources,
  accept: string | undefined,
): Promise<Exposition> {
  const threads = (await services.allCounts?.()) ?? [collectThreadCounts(services)];
  const counts = threads.map((thread) => thread.metrics);
  const added = threads.flatMap(({ figures = [] }) => figures);
  const figures = addThreadValues(services.figures?.() ?? {}, added);
  const families = buildMetricFamilies({
    ...figures,
    ...collectRequestMetrics(services.metrics.routeNames, counts),
  });
  return renderMetrics(families, accept?.includes("application/openmetrics-text") === true);
}
