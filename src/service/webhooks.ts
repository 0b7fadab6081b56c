// Webhooks of a service: the thread that tells them, by the service's own name and clock.
import { randomUUID } from "node:crypto";
import type { DataPaths } from "../journal/data-directory.ts";
import type { OpenLedger } from "../ledger/client.ts";
import { loadOrCreateServiceId } from "../ledger/service-id.ts";
import type { Log } from "../platform/log.ts";
import type { OpenStore } from "../store/client.ts";
import { WebhookThreadClient } from "../threads/webhooks/thread-client.ts";
import { StoreLagMonitor } from "./health/store-lag-monitor.ts";
import { readPackageVersion } from "./identity.ts";
import type { ServeConfig } from "./settings/config.ts";

interface WebhookDependencies {
  readonly paths: DataPaths;
  readonly store: Pick<OpenStore, "status">;
  readonly clock: { readonly now: () => number };
  readonly evidence: {
    readonly ledger: Pick<OpenLedger, "position" | "figures" | "appendAudit">;
  };
}

/**
 * Begins to tell the endpoints that there are, and to look whether the store lags, which no other part puts
 * on record; puts the end of both on `closers`.
 */
export function openWebhooks(
  config: Pick<ServeConfig, "serviceId" | "webhookAllow">,
  { paths, store, clock, evidence }: WebhookDependencies,
  log: Log,
  closers: { push(close: () => Promise<void>): unknown },
): WebhookThreadClient {
  const { ledger } = evidence;
  const serviceId =
    config.serviceId ?? loadOrCreateServiceId(paths, () => `trustrank:${randomUUID()}`);
  const keeper = new WebhookThreadClient({
    data: () => ({
      dataDir: paths.root,
      serviceId,
      allowed: config.webhookAllow ?? "",
      userAgent: `TrustRank/${readPackageVersion()}`,
      figures: ledger.figures.memory,
      durable: ledger.position(),
    }),
    log,
  });
  const append = (payload: Uint8Array) => ledger.appendAudit(payload);
  const state = () => store.status();
  const lag = new StoreLagMonitor({ state, append, clock: clock.now, log });
  closers.push(() => {
    lag.close();
    return keeper.close();
  });
  return keeper;
}
