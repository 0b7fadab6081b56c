// Decision log for webhooks: real records through a real ring into real segments.
import type { DecisionEntry } from "../../src/contract/decisions.ts";
import { createDecisionRing } from "../../src/store/decisions/ring-layout.ts";
import {
  DecisionRingReader,
  decodeRecordsInto,
  createDecisionColumns,
} from "../../src/store/decisions/ring-reader.ts";
import { DecisionRingWriter } from "../../src/store/decisions/ring.ts";
import { readSegmentBlocks, resolveSegmentsDirectory } from "../../src/store/decisions/segments.ts";
import { DecisionSpool } from "../../src/store/decisions/spool.ts";
import { entryOf, NOW_MS, principalOf } from "../store/_decisions.ts";

export interface TestLog {
  /** Logs decisions as one block. */
  log(...entries: Partial<DecisionEntry>[]): void;
  /** Makes rows of all, and keeps what is sealed compressed; a new life begins. */
  settle(): void;
}

export function openDecisionLog(dataDir: string): TestLog {
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const reader = new DecisionRingReader(ring);
  const directory = resolveSegmentsDirectory(dataDir);
  let life = 1000;
  let spool = new DecisionSpool(directory, life);
  let count = 0;
  return {
    log: (...entries) => {
      for (const entry of entries) writer.record({ ...entryOf(count++, false), ...entry });
      const parts: Uint8Array[] = [];
      const position = reader.copyRecords(parts);
      spool.append(parts, NOW_MS);
      reader.release(position);
    },
    settle: () => {
      for (
        let part = spool.findOldestPending();
        part !== undefined;
        part = spool.findOldestPending()
      ) {
        const columns = createDecisionColumns();
        for (const each of readSegmentBlocks(directory, part.segment, part.from).records) {
          decodeRecordsInto(columns, each);
        }
        spool.markIngested(part.segment.name, part.size, NOW_MS);
      }
      spool.close();
      while (spool.compressOne() > 0);
      life += 1000;
      spool = new DecisionSpool(directory, life);
    },
  };
}

/** A denial of an agent, for a tenant. */
export const denial = (agent: string, tenant = "acme"): Partial<DecisionEntry> => ({
  subject: `agent://shop/${agent}`,
  principal: principalOf(tenant),
  isAllowed: false,
  verdictIndex: 3,
});
