// A growing journal with an archive beside it, for the tests of the archive.
import { join } from "node:path";
import { type FileLayer, diskFileLayer } from "../../../src/platform/files.ts";
import { Archive, type ArchiveOptions } from "../../../src/ledger/archive/archive.ts";
import { requireManifest } from "../../../src/ledger/backup/manifest.ts";
import { verifyBackup } from "../../../src/ledger/backup/verify.ts";
import { GrowingJournal, writeFiles } from "../backup/_directories.ts";
import { NOW_MS, temporaryDirectory } from "../_fixtures.ts";

export const SERVICE_ID = "urn:one";

export class Stage {
  readonly dataDir = temporaryDirectory();
  readonly target = join(temporaryDirectory(), "archive");
  readonly journal = new GrowingJournal(this.dataDir);
  /** Epoch ms; goes on by ten seconds with each shipment. */
  nowMs = NOW_MS;
  readonly #archives: Archive[] = [];
  #writers = 0;

  constructor() {
    writeFiles(this.dataDir, { "keys.json": "{}", "service-id": `${SERVICE_ID}\n` });
  }

  /** Another process's view of the archive. */
  open(changes: Partial<ArchiveOptions> = {}, serviceId = SERVICE_ID): Archive {
    const writer = `writer-${++this.#writers}`;
    const archive = new Archive({
      files: diskFileLayer,
      dataDir: this.dataDir,
      target: this.target,
      claim: { service_id: serviceId, writer, pid: 1, host: "here" },
      madeBy: "0.0.0",
      durable: () => this.journal.position,
      ...changes,
    });
    this.#archives.push(archive);
    return archive;
  }

  ship(archive: Archive) {
    return archive.update((this.nowMs += 10_000));
  }

  manifest(files: FileLayer = diskFileLayer) {
    return requireManifest(files, this.target);
  }

  /** Where the archive ends, and what of it does not verify. */
  verified() {
    const { manifest, damages } = verifyBackup(diskFileLayer, this.target);
    return { position: manifest.position, damages };
  }

  objects(): string[] {
    return diskFileLayer.list(join(this.target, "objects")).toSorted();
  }

  close(): void {
    for (const archive of this.#archives) archive.close();
    this.journal.core.close();
  }
}
