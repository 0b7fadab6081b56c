// A long history of outcomes, the same on every run, written into a journal as the ledger would.
import type { OutcomeRecord } from "../src/journal/records.ts";
import { COMMIT_RECORDS_MAX, FrameBatch } from "../src/ledger/frame-batch.ts";
import { openJournal } from "./journal.ts";

/** End of the history. */
export const NOW_MS = Date.UTC(2026, 5, 1);
const REPORTERS = 5000;
const SPREAD_MS = 90 * 86_400_000;

/** Record `index` of the history: the same on every run. */
export function recordOf(index: number, agents: number, outcomes: number): OutcomeRecord {
  // Multipliers without a common factor: every agent comes up, in no order a cache would like.
  const subject = (index * 7_919_317) % agents;
  const settledAtMs = Math.floor(NOW_MS - SPREAD_MS + (SPREAD_MS * index) / outcomes);
  const hex = index.toString(16).padStart(12, "0");
  return {
    outcomeId: `00000000-0000-7000-8000-${hex}`,
    idempotencyKey: `id\nbench\n${hex}`,
    subject: `agent://bench/${subject}`,
    reporter: `agent://bench/r${(index * 104_729) % REPORTERS}`,
    outcome: index % 11 === 0 ? 0 : 1,
    stakes: 1 + (index % 900),
    gradeIndex: 3,
    signature: "none",
    settledAtMs,
    recordedAtMs: settledAtMs,
    isAgentFault: true,
    tenant: "bench",
    action: "",
    requestId: "",
    source: "api",
    body: Buffer.from(`{"subject":"agent://bench/${subject}","outcome":1,"stakes":25}`),
  };
}

/** Writes a journal as the ledger would, without the fold. */
export function writeHistory(
  dataDir: string,
  agents: number,
  outcomes: number,
  upTo: number,
): void {
  const core = openJournal(dataDir, NOW_MS);
  const batch = new FrameBatch();
  for (let index = 0; index < upTo; index++) {
    batch.addOutcome(recordOf(index, agents, outcomes));
    if (batch.count === COMMIT_RECORDS_MAX || index === upTo - 1) {
      core.commit([batch.drain()], NOW_MS);
    }
    if (index % 1_000_000 === 0) process.stderr.write(`written ${index}\n`);
  }
  core.close();
}
