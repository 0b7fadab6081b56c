// Prometheus exposition by prom-client: the text of metric families, and those of the process itself
// (CPU, memory, descriptors, event loop of the main thread, garbage collection). The counts of the
// service are fixed arrays elsewhere and come here as samples: nothing of prom-client is on the path
// of a request. Loaded with the first call, so that commands and further threads never pay for it.
import type { Registry } from "prom-client";

/** One line of a family; `suffix` for the parts of a histogram. */
export interface FamilySample {
  readonly suffix?: "_bucket" | "_sum" | "_count";
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One metric with all its lines. */
export interface MetricFamily {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly FamilySample[];
}

export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/** A family as prom-client renders it. */
interface PromClientMetric {
  name: string;
  type: string;
  help: string;
  values: { metricName?: string; labels: object; value: number }[];
}

/** Their names say counter and their type gauge: `promtool check metrics` refuses them. */
const MISNAMED = /^nodejs_active_\w+_total$/;

let processRegistry: Promise<Registry> | undefined;

/** Begins to count what the process does (event loop, garbage collection); once is enough. */
export function startProcessMetrics(): Promise<Registry> {
  processRegistry ??= import("prom-client").then(({ collectDefaultMetrics, Registry }) => {
    const register = new Registry();
    collectDefaultMetrics({ register });
    for (const { name } of register.getMetricsAsArray()) {
      if (MISNAMED.test(name)) register.removeSingleMetric(name);
    }
    return register;
  });
  return processRegistry;
}

/** The families and those of the process, as OpenMetrics or as Prometheus text. */
export async function renderMetrics(
  families: readonly MetricFamily[],
  isOpenMetrics: boolean,
): Promise<Exposition> {
  const ofProcess = await startProcessMetrics();
  const { Registry } = await import("prom-client");
  const { OPENMETRICS_CONTENT_TYPE, PROMETHEUS_CONTENT_TYPE } = Registry;
  const contentType = isOpenMetrics ? OPENMETRICS_CONTENT_TYPE : PROMETHEUS_CONTENT_TYPE;
  const registry = new Registry();
  registry.setContentType(contentType as typeof PROMETHEUS_CONTENT_TYPE);
  // A copy: to render OpenMetrics, prom-client takes `_total` off the names of what is registered.
  const measured = (await ofProcess.getMetricsAsJSON()) as unknown as PromClientMetric[];
  for (const family of [...families.map(convertToPromMetric), ...measured]) {
    const { name, type } = family;
    const stem = isOpenMetrics && type === "counter" ? name.replace(/_total$/, "") : name;
    const values = family.values.map((each) =>
      each.metricName === name ? { ...each, metricName: stem } : each,
    );
    const named = { ...family, name: stem, values };
    registry.registerMetric({ name: stem, type, get: () => named } as never);
  }
  return { contentType, text: await registry.metrics() };
}

function convertToPromMetric({ name, type, help, samples }: MetricFamily): PromClientMetric {
  const values = samples.map(({ suffix, labels, value }) =>
    suffix === undefined ? { labels, value } : { metricName: name + suffix, labels, value },
  );
  return { name, type, help, values };
}
