// Health as an operator sees it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listHealthParts } from "../../../src/console/pages/health/parts.ts";
import type { ServiceStatus } from "../../../src/contract/schemas/series.ts";
import { type ConsoleStage, openConsole } from "../_console.ts";
import { needs } from "../../_needs.ts";

describe("Health", needs("chromium"), () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await openConsole();
  });
  afterAll(() => stage?.close());

  it("has every part of the service, as the API tells it", async () => {
    const { page, expectSound } = await stage.visit("health");
    const rows = page.getByRole("region", { name: "parts of the service" }).locator("tbody tr");
    await rows.first().waitFor();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Health");
    expect(await rows.count()).toBe(11);
    expect(await rows.filter({ hasText: "Archive" }).textContent()).toContain("none is set");
    expect(await rows.filter({ hasText: "Journal" }).textContent()).toContain("position");
    // Where nothing is behind, the line lies on the axis: it has no height.
    await page.locator(".chart .plot-line").first().waitFor({ state: "attached" });
    await expectSound("health");
  });
});

const WELL: ServiceStatus = {
  at: "2026-03-01T12:00:00.000Z",
  version: "1",
  runtime: "v22",
  config_version: "c-1",
  ready: true,
  reasons: [],
  warnings: [],
  http: { threads: 1, connections_max: 10, queue_ms_max: 25, console: "loopback" },
  journal: {
    position: 9,
    pending: 0,
    sync_p50_ms: 1,
    sync_p99_ms: 2,
    damages: [],
    verified_at: "2026-03-01T11:00:00.000Z",
    snapshot_at: null,
  },
  disk: { is_low: false, free_bytes: 5e9, ballast_bytes: 1e6 },
  store: {
    position: 9,
    lag_records: 0,
    behind_seconds: 0,
    is_rebuilding: false,
    rebuilds: 0,
    reopenings: 0,
    failure: null,
  },
  decisions: { segments: 1, bytes: 10, waiting_bytes: 0, damaged_records: 0, sample_one_in: 1 },
  table: { agents: 3, bytes: 10, bytes_max: 100, share: 0.1 },
  reviews: { undecided: 0, oldest_seconds: 0 },
  archive: {
    is_set: true,
    age_seconds: 3,
    interval_seconds: 5,
    lag_records: 0,
    failures: 0,
    failure: null,
  },
  webhooks: { endpoints: 1, failing: 0, waiting: 0, dead: 0, oldest_seconds: 0 },
};

describe("the state of a part", () => {
  const alertOf = (name: string, change: Partial<ServiceStatus>) => {
    const found = listHealthParts({ ...WELL, ...change }).find((each) => each.name === name)!;
    return [found.state, found.alert];
  };

  it("asks for nothing while all is well", () => {
    expect(listHealthParts(WELL).every(({ state, alert }) => state === "ok" && alert === "")).toBe(
      true,
    );
  });

  it("is that of its alert, which it names", () => {
    const { journal, disk, store, table, reviews, archive, webhooks } = WELL;
    expect(alertOf("Disk", { disk: { ...disk, is_low: true } })).toEqual([
      "act",
      "TrustRankDiskLow",
    ]);
    expect(alertOf("Scrub", { journal: { ...journal, damages: ["seg-1"] } })).toEqual([
      "act",
      "TrustRankJournalDamaged",
    ]);
    const verified_at = "2026-02-20T12:00:00.000Z";
    expect(alertOf("Scrub", { journal: { ...journal, verified_at } })).toEqual([
      "look",
      "TrustRankJournalUnverified",
    ]);
    expect(alertOf("Store", { store: { ...store, behind_seconds: 301 } })[0]).toBe("look");
    expect(alertOf("Store", { store: { ...store, failure: "why" } })[0]).toBe("act");
    expect(alertOf("Agent table", { table: { ...table, share: 0.81 } })[0]).toBe("look");
    expect(alertOf("Reviews", { reviews: { ...reviews, oldest_seconds: 86_401 } })[0]).toBe("look");
    expect(alertOf("Archive", { archive: { ...archive, age_seconds: 76 } })[0]).toBe("act");
    expect(alertOf("Webhooks", { webhooks: { ...webhooks, failing: 1 } })).toEqual([
      "look",
      "TrustRankWebhookStopped",
    ]);
    expect(alertOf("HTTP threads", { ready: false })[0]).toBe("act");
  });

  it("of a cluster is its log's and this node's, and there is none without one", () => {
    const stream = {
      node: "a",
      generation: 1,
      position: 1200,
      lag_messages: 3,
      lag_ms: 240,
      connected: true,
      leader_known: true,
      away_since: null as string | null,
    };
    const told = (change: Partial<typeof stream>) =>
      listHealthParts({ ...WELL, stream: { ...stream, ...change } }).find(
        ({ name }) => name === "Cluster",
      )!;
    expect(listHealthParts(WELL).some(({ name }) => name === "Cluster")).toBe(false);
    expect(told({})).toMatchObject({
      state: "ok",
      says: "node a at message 1,200, 3 behind, answers 240 ms old",
      alert: "",
    });
    const stateOf = (change: Partial<typeof stream>) => [told(change).state, told(change).alert];
    expect(stateOf({ lag_ms: 5001 })).toEqual(["look", "TrustRankNodeBehind"]);
    expect(stateOf({ lag_ms: 30_001 })).toEqual(["act", "TrustRankNodeBehind"]);
    const away_since = "2026-03-01T11:59:00.000Z";
    expect(stateOf({ away_since })).toEqual(["act", "TrustRankStreamAway"]);
    expect(told({ away_since }).says).toContain("refused: no majority");
    expect(told({ away_since, leader_known: false }).says).toContain("refused: no server leads");
    expect(told({ away_since, connected: false }).says).toContain("refused: no connection");
  });
});
