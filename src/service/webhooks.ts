// Webhooks of a service: the thread that tells them, by the service's own name and clock.
import { randomUUID } from "node:crypto";
import type { DataPaths } from "../journal/data-directory.ts";
import type { OpenLedger } from "../ledger/client.ts";
import { loadServiceId } from "../ledger/service-id.ts";
import type { Log } from "../platform/log.ts";
import { WebhookKeeper } from "../threads/webhooks/keeper.ts";
import { versionOf } from "./identity.ts";
import type { ServeConfig } from "./settings/config.ts";

interface WebhookGround {
  readonly paths: DataPaths;
  readonly evidence: { readonly ledger: Pick<OpenLedger, "position" | "figures"> };
}

/** Begins to tell the endpoints that there are, and puts the end of it on `closers`. */
export function openWebhooks(
  config: Pick<ServeConfig, "serviceId" | "webhookAllow">,
  { paths, evidence }: WebhookGround,
  log: Log,
  closers: { push(close: () => Promise<void>): unknown },
): WebhookKeeper {
  const { ledger } = evidence;
  const serviceId = config.serviceId ?? loadServiceId(paths, () => `trustrank:${randomUUID()}`);
  const keeper = new WebhookKeeper({
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
  closers.push(() => keeper.close());
  return keeper;
}
