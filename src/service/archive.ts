// The archive of a service: nothing where none is set. It is closed after the ledger, so that its last
// shipment has everything, and before the data directory is given up.
import { randomUUID } from "node:crypto";
import type { DataPaths } from "../journal/data-directory.ts";
import type { OpenLedger } from "../ledger/client.ts";
import { loadOrCreateServiceId } from "../ledger/service-id.ts";
import type { Log } from "../platform/log.ts";
import {
  ArchiveScheduler,
  type ArchiveStatus,
  startArchiveThread,
} from "../threads/archive/scheduler.ts";
import { readPackageVersion } from "./identity.ts";
import type { ServeConfig } from "./settings/config.ts";

export class ServiceArchive {
  readonly #config: Pick<ServeConfig, "archive" | "serviceId">;
  readonly #paths: DataPaths;
  readonly #log: Log;
  #keeper: ArchiveScheduler | undefined;

  constructor(config: Pick<ServeConfig, "archive" | "serviceId">, paths: DataPaths, log: Log) {
    this.#config = config;
    this.#paths = paths;
    this.#log = log;
  }

  /** Begins to ship, on a thread of its own. No trouble with the target is trouble here. */
  start(ledger: Pick<OpenLedger, "position" | "figures">, clock: () => number): void {
    const { archive, serviceId } = this.#config;
    if (archive === undefined) return;
    const { directory: target, everyMs } = archive;
    const thread = startArchiveThread({
      dataDir: this.#paths.root,
      target,
      serviceId: serviceId ?? loadOrCreateServiceId(this.#paths, () => `trustrank:${randomUUID()}`),
      madeBy: readPackageVersion(),
      figures: ledger.figures.memory,
    });
    this.#keeper = new ArchiveScheduler({
      thread,
      everyMs,
      clock,
      durable: () => ledger.position(),
      log: this.#log,
    });
  }

  /** Undefined without an archive. */
  status(): ArchiveStatus | undefined {
    return this.#keeper?.status();
  }

  /** True when its thread did not end in time: a call into the target does not come back. */
  get isLate(): boolean {
    return this.#keeper?.isLate ?? false;
  }

  async close(): Promise<void> {
    await this.#keeper?.close();
  }
}
