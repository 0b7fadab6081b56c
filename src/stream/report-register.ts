// The register in which nodes tell of themselves: a bucket beside the log, an entry for each node.
import { SEALED_RULES } from "../ledger/ordered/message.ts";
import type { KeptReport, NodeReports } from "./ordered-log.ts";
import type { SealedBucket } from "./sealed-bucket.ts";

export class ReportRegister {
  readonly #bucket: SealedBucket;
  /** Nodes in whose name stood, when it was last read, a report that does not count. */
  unsealed: readonly string[] = [];

  constructor(bucket: SealedBucket) {
    this.#bucket = bucket;
  }

  /** @throws the server's error. */
  async publish(node: string, report: object): Promise<void> {
    await this.#bucket.put(node, report);
  }

  /** Generations of the log that sealed reports name. @throws the server's error. */
  async readGenerations(): Promise<Set<unknown>> {
    const entries = [...(await this.#bucket.readAll()).values()].filter((entry) => entry.isSealed);
    return new Set(entries.map(({ value }) => value["generation"]));
  }

  /**
   * Reports that count. A sealed one that tells of rules of this generation under which seals are demanded shows that
   * they are.
   * @throws the server's error.
   */
  async read(log: {
    readonly generation: number;
    readonly demandSeals: () => void;
  }): Promise<NodeReports> {
    const entries = [...(await this.#bucket.readAll())];
    const isDemanded = entries.some(
      ([, { isSealed, value }]) =>
        isSealed &&
        value["generation"] === log.generation &&
        Number(value["rules"]) >= SEALED_RULES,
    );
    if (isDemanded) log.demandSeals();
    const counted = new Map<string, KeptReport>();
    const unsealed: string[] = [];
    for (const [node, entry] of entries) {
      const { value: told, revision, keptMs } = entry;
      if (this.#bucket.counts(entry)) counted.set(node, { told, revision, keptMs });
      else unsealed.push(node);
    }
    this.unsealed = unsealed.toSorted();
    return counted;
  }
}
