// Counts of the ledger, read from the memory that it shares: only what is durable, and each outcome
// once.
import { expect, test } from "vitest";
import { GRADES } from "../../src/contract/vocabulary.ts";
import { LedgerMetrics } from "../../src/ledger/metrics.ts";
import { newKey, NOW_MS, openCore, recordOf, runOf, temporaryDirectory } from "./_fixtures.ts";

test("outcomes by grade and signature, syncs, and how many share one", () => {
  const figures = new LedgerMetrics();
  const reader = new LedgerMetrics(figures.memory);
  const directory = temporaryDirectory();
  const key = newKey();
  const { core } = openCore(directory, key, { figures });
  const escrow = GRADES.indexOf("escrow");
  const first = recordOf(1, { gradeIndex: escrow, idempotencyKey: "k" });
  core.commit([runOf([first, recordOf(2, { gradeIndex: 0, signature: "reporter" })])], NOW_MS);
  core.commit([runOf([first])], NOW_MS);
  core.commit([runOf([recordOf(3, { gradeIndex: escrow })])], NOW_MS);
  core.close();
  const { outcomes, syncs, commits, snapshotMs } = reader.counts();
  expect(outcomes.filter(({ value }) => value > 0)).toEqual([
    { labels: ["onchain", "reporter"], value: 1 },
    { labels: ["escrow", "none"], value: 2 },
  ]);
  const countOf = ({ buckets }: typeof syncs) => buckets.reduce((sum, count) => sum + count, 0);
  expect([countOf(syncs), countOf(commits), commits.sum]).toEqual([2, 2, 3]);
  expect(syncs.sum).toBeGreaterThan(0);
  expect(snapshotMs).toBeUndefined();
  // A replay records nothing.
  const again = new LedgerMetrics();
  openCore(directory, key, { figures: again }).core.close();
  expect(again.counts().outcomes.every(({ value }) => value === 0)).toBe(true);
  figures.setSnapshotTime(NOW_MS);
  expect(reader.counts().snapshotMs).toBe(NOW_MS);
});
