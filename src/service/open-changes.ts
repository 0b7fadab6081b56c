// Opens the change feed of a service: its followers on the main thread, and its clock.
import { randomUUID } from "node:crypto";
import { ChangeFollowers } from "../http/changes/followers.ts";
import { loadOrCreateServiceId } from "../ledger/service-id.ts";
import { diskFileLayer } from "../platform/files.ts";
import type { Log } from "../platform/log.ts";
import { readMonotonicMs } from "../platform/moment.ts";
import type { ChangeBroadcaster } from "./change-broadcaster.ts";
import type { ServeConfig } from "./settings/config.ts";
import type { ServiceStorage } from "./storage.ts";

/** Interval of heartbeats, ms: after three without one a follower trusts its cache less. */
const HEARTBEAT_MS = 1000;

interface ChangesDependencies extends ServiceStorage {
  readonly subscribers: ChangeBroadcaster;
}

/** Begins to announce changes; puts the end of it on `closers`. Returns the followers on this thread. */
export function openChanges(
  config: Pick<ServeConfig, "serviceId">,
  log: Log,
  { paths, evidence, keyring, cluster, clock, subscribers }: ChangesDependencies,
  closers: { push(close: () => void): unknown },
): ChangeFollowers {
  const { feed } = subscribers;
  const followers = new ChangeFollowers((id) => keyring.findValidPrincipal(id) !== undefined);
  const lagGuard = cluster?.lagGuard(clock.now);
  feed.open({
    files: diskFileLayer,
    directory: paths.journal,
    serviceId: config.serviceId ?? loadOrCreateServiceId(paths, () => `trustrank:${randomUUID()}`),
    position: evidence.ledger.position(),
    findKeyAgent: (kid) => evidence.registry.find(kid)?.agent,
    clock: readMonotonicMs,
    isCurrent: () => lagGuard?.isBehind !== true,
    send(news) {
      followers.apply(news);
      subscribers.sendChanges(news);
    },
    log: (detail) => log.warn("changes_history_unread", { detail }),
  });
  const timer = setInterval(feed.tick, HEARTBEAT_MS);
  closers.push(() => clearInterval(timer));
  return followers;
}
