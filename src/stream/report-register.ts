// The register in which nodes tell of themselves: a bucket beside the log, an entry for each node.
import { FIRST_RULES, SEALED_RULES } from "../ledger/ordered/message.ts";
import type { KeptReport, NodeReports, OrderedLog } from "./ordered-log.ts";
import type { NodeReport } from "./reports.ts";
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
   * they are, and since when.
   * @throws the server's error.
   */
  async read(log: Pick<OrderedLog, "demandSeals" | "generation">): Promise<NodeReports> {
    const entries = [...(await this.#bucket.readAll())];
    for (const [, { isSealed, value }] of entries) {
      const { generation, rules, sealedSinceMs } = value as Partial<NodeReport>;
      const isRaised = generation === log.generation && (rules ?? FIRST_RULES) >= SEALED_RULES;
      if (isSealed && isRaised) log.demandSeals(sealedSinceMs);
    }
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
