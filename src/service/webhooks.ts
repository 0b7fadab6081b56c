// Webhooks of a service: the thread that tells them, by the service's own name and clock.
import { randomUUID } from "node:crypto";
import type { DataPaths } from "../journal/data-directory.ts";
import type { OpenLedger } from "../ledger/client.ts";
import { loadServiceId } from "../ledger/service-id.ts";
import type { Log } from "../platform/log.ts";
import type { OpenStore } from "../store/client.ts";
import { WebhookKeeper } from "../threads/webhooks/keeper.ts";
import { LagWatch } from "./health/lag-watch.ts";
import { versionOf } from "./identity.ts";
import type { ServeConfig } from "./settings/config.ts";

/** Puts it on record when the store lags: an event that no other part journals. */
export function watchStore(
  store: Pick<OpenStore, "status">,
  ledger: Pick<OpenLedger, "appendAudit">,
  clock: () => number,
  log: Log,
): LagWatch {
  const append = (payload: Uint8Array) => ledger.appendAudit(payload);
  return new LagWatch({ state: () => store.status(), append, clock, log });
}

/** Begins to tell the endpoints that there are. */
export function openWebhooks(
  config: Pick<ServeConfig, "serviceId" | "webhookAllow">,
  paths: DataPaths,
  ledger: Pick<OpenLedger, "position" | "figures">,
  log: Log,
): WebhookKeeper {
  const serviceId = config.serviceId ?? loadServiceId(paths, () => `trustrank:${randomUUID()}`);
  return new WebhookKeeper({
    data: () => ({
      dataDir: paths.root,
      serviceId,
      allowed: config.webhookAllow ?? "",
      userAgent: `TrustRank/${versionOf()}`,
      figures: ledger.figures.memory,
      durable: ledger.position(),
    }),
    log,
  });
}
