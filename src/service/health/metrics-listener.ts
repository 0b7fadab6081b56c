// Listener for metrics alone, as the settings ask for it: without a key, so that the log names an address
// that others may reach.
import {
  isLoopbackHost,
  type MetricsListener,
  openMetricsListener,
} from "../../http/metrics/listener.ts";
import type { RunningHttpServer } from "../../http/start.ts";
import type { Log } from "../../platform/log.ts";
import type { ServeConfig } from "../settings/config.ts";

/** The listener for metrics alone, where one is asked for. */
export async function openConfiguredMetricsListener(
  { metricsListen }: ServeConfig,
  log: Log,
  front: Pick<RunningHttpServer, "scrape">,
): Promise<MetricsListener | undefined> {
  if (metricsListen === undefined) return undefined;
  const { host } = metricsListen;
  if (!isLoopbackHost(host)) {
    const detail = "whoever reaches it reads all metrics without a key: keep others from it";
    log.warn("metrics_listener_open", { address: host, detail });
  }
  return openMetricsListener(metricsListen, (accept) => front.scrape(accept));
}
