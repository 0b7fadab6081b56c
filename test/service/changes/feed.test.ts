// The change feed of the main thread over a real ledger: what each kind of record says, announced once it is in
// force, and read from the journal again by the next process.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import type { ChangeNews } from "../../../src/http/changes/log.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { ChangeFeed } from "../../../src/service/changes/feed.ts";
import {
  buildPolicyEffect,
  buildReviewEffect,
  CHANGE_RECORD_KINDS,
  CONFIG_EFFECT,
} from "../../../src/service/changes/records.ts";

const NOW_MS = Date.parse("2026-03-01T12:00:00Z");
const dataDir = mkdtempSync(join(tmpdir(), "trustrank-feed-"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

async function open() {
  const feed = new ChangeFeed();
  const clock = { nowMs: 0, isCurrent: true };
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (code) => {
      throw new Error(`fatal ${code}`);
    },
    clock: () => NOW_MS,
    announcedKinds: CHANGE_RECORD_KINDS,
    onAnnounced: feed.takeRecords,
    onConfigInstalled: () => feed.confirmEffect(CONFIG_EFFECT),
  });
  const news: ChangeNews[] = [];
  const refused: string[] = [];
  feed.open({
    files: diskFileLayer,
    directory: resolveDataPaths(dataDir).journal,
    serviceId: "trustrank:test",
    position: ledger.position(),
    findKeyAgent: (kid) => (kid === "kid-1" ? "agent://shop/buyer" : undefined),
    clock: () => clock.nowMs,
    isCurrent: () => clock.isCurrent,
    send: (each) => void news.push(each),
    log: (detail) => void refused.push(detail),
  });
  const kinds = () =>
    news.flatMap(({ changes }) => changes.map((each) => JSON.parse(each.json) as { kind: string }));
  await expect.poll(() => news.some(({ from }) => from !== undefined)).toBe(true);
  return { feed, clock, ledger, news, kinds, refused };
}

const REVIEW = { tenant: "acme", agent: "agent://shop/buyer" };
const POLICY = { event: "policy.set", tenant: "acme", version: "p-1", policy: DEFAULT_POLICY };

it("announces changes in force, holds back the position for others, and reads them again", async () => {
  const first = await open();
  const { feed, ledger, news, kinds, clock } = first;
  expect(news).toEqual([
    { journal: expect.stringMatching(/^[0-9a-f]{8}$/), changes: [], head: 0, from: 0 },
  ]);
  const key = { at_ms: NOW_MS, tenant: "acme", kid: "kid-1" };
  const dates = { not_before_ms: NOW_MS, expires_ms: null, others_retire_ms: NOW_MS };
  const registered = {
    ...key,
    ...dates,
    event: "registered",
    agent: REVIEW.agent,
    x: "x",
    proof: "p",
  };
  await ledger.appendKeyEvent(json(registered));
  await ledger.appendKeyEvent(json({ ...key, event: "revoked", compromised_since_ms: null }));
  const about = { kind: "key", tenant: null, agent: REVIEW.agent, at: "2026-03-01T12:00:00.000Z" };
  expect(kinds()).toMatchObject([about, about]);
  expect(news.at(-1)!.head).toBe(2);

  // A policy is announced once the threads have it; what comes behind it is not held back.
  await ledger.appendPolicy(
    json({ ...POLICY, set_by: "k", at_ms: NOW_MS, reason: "secret words" }),
  );
  await ledger.appendKeyEvent(json({ ...key, event: "revoked", compromised_since_ms: null }));
  expect(kinds().map(({ kind }) => kind)).toEqual(["key", "key", "key"]);
  expect(news.at(-1)!.head).toBe(2);
  feed.confirmEffect(buildPolicyEffect(POLICY));
  expect(kinds().at(-1)).toMatchObject({ kind: "policy", tenant: "acme", version: "p-1" });
  expect(news.at(-1)!.head).toBe(4);

  const decided = {
    ...REVIEW,
    level: "L2",
    day: "2026-03-01",
    round: 0,
    id: "rv-1",
    at_ms: NOW_MS,
  };
  const decision = {
    decision: "upheld",
    until_ms: NOW_MS + 1,
    note: "secret words",
    max_stakes: null,
  };
  const by = { who: "secret words", actor: "k" };
  await ledger.appendReviewEvent(json({ ...decided, ...decision, ...by, event: "review.decided" }));
  feed.confirmEffect(buildReviewEffect({ ...REVIEW, agent: "another" }));
  expect(kinds().at(-1)!.kind).toBe("policy");
  feed.confirmEffect(buildReviewEffect(REVIEW));
  expect(kinds().at(-1)).toMatchObject({ kind: "review", ...REVIEW });

  const config = loadDefaultConfig();
  await ledger.appendConfig(json(config));
  expect(kinds().at(-1)!.kind).toBe("review");
  await ledger.installConfig(config);
  expect(kinds().at(-1)).toMatchObject({ kind: "config", tenant: null });

  // An effect that never comes does not hold back the position for good.
  await ledger.appendPolicy(json({ ...POLICY, version: "p-2", set_by: "k", at_ms: NOW_MS }));
  clock.nowMs = 1999;
  feed.tick();
  expect(kinds().at(-1)!.kind).toBe("config");
  clock.nowMs = 2000;
  feed.tick();
  expect(kinds().at(-1)).toMatchObject({ kind: "policy", version: "p-2" });
  expect(JSON.stringify(news)).not.toContain("secret");
  expect(news.at(-1)).toEqual({ journal: news[0]!.journal, changes: [], head: ledger.position() });

  // No heartbeat vouches for a node that does not hear of its cluster.
  clock.isCurrent = false;
  const { length } = news;
  feed.tick();
  expect(news).toHaveLength(length);
  await ledger.close();

  const second = await open();
  const byPosition = (all: typeof news) =>
    all.flatMap(({ changes }) => changes).toSorted((one, other) => one.position - other.position);
  expect(byPosition(second.news)).toEqual(byPosition(news));
  expect(second.news[0]).toMatchObject({ from: 0, head: first.ledger.position() });
  expect(second.refused).toEqual([]);
  await second.ledger.close();
});
