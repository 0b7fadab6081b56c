// Decision log for webhooks: real records through a real ring into real segments.
import type { DecisionEntry } from "../../src/contract/decisions.ts";
import { createDecisionRing } from "../../src/store/decisions/ring-layout.ts";
import {
  DecisionReader,
  readRecords,
  emptyColumns,
} from "../../src/store/decisions/ring-reader.ts";
import { DecisionRing } from "../../src/store/decisions/ring.ts";
import { readSegment, segmentsDirectory } from "../../src/store/decisions/segments.ts";
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
  const writer = new DecisionRing(ring, { waitMs: 0 });
  const reader = new DecisionReader(ring);
  const directory = segmentsDirectory(dataDir);
  let life = 1000;
  let spool = new DecisionSpool(directory, life);
  let count = 0;
  return {
    log: (...entries) => {
      for (const entry of entries) writer.record({ ...entryOf(count++, false), ...entry });
      const parts: Uint8Array[] = [];
      const position = reader.copy(parts);
      spool.put(parts, NOW_MS);
      reader.release(position);
    },
    settle: () => {
      for (let part = spool.next(); part !== undefined; part = spool.next()) {
        const columns = emptyColumns();
        for (const each of readSegment(directory, part.segment, part.from).records) {
          readRecords(columns, each);
        }
        spool.took(part.segment.name, part.size, NOW_MS);
      }
      spool.close();
      while (spool.keepOne() > 0);
      life += 1000;
      spool = new DecisionSpool(directory, life);
    },
  };
}

/** A denial of an agent, for a tenant. */
export const denial = (agent: string, tenant = "acme"): Partial<DecisionEntry> => ({
  subject: `agent://shop/${agent}`,
  principal: principalOf(tenant),
  isLetThrough: false,
  verdictIndex: 3,
});
