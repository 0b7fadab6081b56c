// An operator's view of a cluster: nodes in order, journals compared, problems in sentences.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildClusterOverview } from "../../../src/service/cluster/overview.ts";
import type { LogState } from "../../../src/stream/ordered-log.ts";
import { compareChains, type NodeReport, readClusterView } from "../../../src/stream/reports.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const TIMES = { atMs: NOW, sinceMs: 500 };
const STATE: LogState = { firstSeq: 1, lastSeq: 2100, leader: "n1" };

function reportOf(changes: Partial<NodeReport> = {}): NodeReport {
  return {
    generation: 1,
    key: "aa",
    seq: 2100,
    lsn: 9000,
    chain: "cc",
    version: "0.1.0",
    atMs: NOW - 2000,
    checkpoints: [
      [1000, "a1"],
      [2000, "a2"],
    ],
    ...changes,
  };
}

function overview(
  reports: Readonly<Record<string, NodeReport>>,
  state = STATE,
  ages: Readonly<Record<string, number>> = {},
) {
  const view = {
    generation: 1,
    state,
    reports: Object.entries(reports),
    ages: new Map(Object.keys(reports).map((node) => [node, ages[node] ?? 2000])),
  };
  return buildClusterOverview("test", view, TIMES);
}

describe("overviewOf", () => {
  it("tells of a sound cluster", () => {
    const url = "http://b.test:8080";
    const told = overview({ b: reportOf({ url }), a: reportOf({ seq: 2090, chain: "bb" }) });
    expect(told).toMatchObject({ is_sound: true, problems: [], leader: "n1", generation: 1 });
    expect(told.chains).toEqual({ agree: true, compared: 2, newest: 2000, diverged_at: null });
    expect(told.nodes.map(({ node, lag_messages: lag, url: at }) => [node, lag, at])).toEqual([
      ["a", 10, null],
      ["b", 0, url],
    ]);
    expect(told.nodes[0]).toMatchObject({ age_seconds: 2.5, place: 2090, position: 9000 });
  });

  it("names what is wrong with the log", () => {
    const { problems } = overview({}, { ...STATE, leader: "" });
    expect(problems).toEqual([
      "the log has no leader: a majority of its servers does not answer",
      "no node has told of itself",
    ]);
    const replicas = [
      { server: "n2", isCurrent: false, isOffline: true, lag: 5 },
      { server: "n3", isCurrent: false, isOffline: false, lag: 20_000 },
      { server: "n4", isCurrent: false, isOffline: false, lag: 3 },
    ];
    const away = overview({ a: reportOf() }, { ...STATE, replicas });
    expect(away.problems).toEqual([
      "server `n2` of the log is away",
      "server `n3` of the log is 20000 operations behind its leader",
    ]);
    expect(away.replicas).toHaveLength(3);
    const filled = (bytes: number) =>
      overview({ a: reportOf() }, { ...STATE, bytes, bytesMax: 100 });
    expect(filled(80).problems).toEqual([]);
    expect(filled(81).problems).toEqual([expect.stringContaining("81 % full")]);
    const keys = overview({ a: reportOf(), b: reportOf({ key: "bb" }) });
    expect(keys.problems.join()).toContain("nodes sign with different keys");
  });

  it("names a node that is silent, far behind, beyond the log's beginning, or of another generation", () => {
    const told = overview(
      {
        silent: reportOf(),
        // Its clock is two minutes behind.
        behind: reportOf({ seq: 30_000, atMs: NOW - 120_000 }),
        lost: reportOf({ seq: 500 }),
        former: reportOf({ generation: 2 }),
      },
      { firstSeq: 502, lastSeq: 50_000, leader: "n1" },
      { silent: 31_000 },
    );
    expect(told.problems).toContain("node `silent` has told nothing for 32 s");
    expect(told.problems.filter((each) => each.includes("has told nothing"))).toHaveLength(1);
    expect(told.problems).toContain("node `behind` is 20000 messages behind");
    expect(told.problems).toContain(
      "node `lost` has applied message 500, and the log begins at 502",
    );
    expect(told.problems).toContain("node `former` follows generation 2, not 1");
    expect(told.is_sound).toBe(false);
  });

  it("names the sides where journals differ, at a checkpoint or where two nodes stand", () => {
    const told = overview({
      a: reportOf(),
      b: reportOf(),
      c: reportOf({ seq: 2050, checkpoints: [[2000, "other"]] }),
    });
    expect(told.problems).toEqual(["journals differ at message 2000: `a`, `b` against `c`"]);
    expect(told.chains).toMatchObject({ agree: false, diverged_at: 2000 });
    const tips = overview({ a: reportOf(), b: reportOf({ chain: "dd" }) });
    expect(tips.chains).toMatchObject({ agree: false, diverged_at: 2100 });
  });
});

describe("agent tables", () => {
  const tables = (hash: string): Partial<NodeReport> => ({
    engine: "e1",
    tables: [
      [1000, "t1"],
      [2000, hash],
    ],
  });

  it("names the sides where those of one engine differ", () => {
    const told = overview({
      a: reportOf(tables("t2")),
      b: reportOf(tables("t2")),
      c: reportOf(tables("x")),
      former: reportOf(),
    });
    expect(told.problems).toEqual(["agent tables differ at message 2000: `a`, `b` against `c`"]);
    expect(told.tables).toEqual({ agree: false, compared: 2, newest: 2000, differ_at: 2000 });
    expect(told.chains.agree).toBe(true);
    expect(told.nodes.map(({ engine }) => engine)).toEqual(["e1", "e1", "e1", null]);
  });

  it("compares none of different engines, or of another generation", () => {
    const told = overview({
      a: reportOf(tables("t2")),
      b: reportOf({ ...tables("x"), engine: "e2" }),
      c: reportOf({ ...tables("y"), generation: 2 }),
    });
    expect(told.tables).toEqual({ agree: true, compared: 0, newest: null, differ_at: null });
  });
});

describe("compareChains", () => {
  const chain = fc.constantFrom("x", "y");
  const report = fc
    .record({
      generation: fc.constantFrom(1, 2),
      seq: fc.integer({ min: 0, max: 5 }),
      chain,
      checkpoints: fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), chain), { maxLength: 4 }),
    })
    .map((changes) => reportOf(changes));

  it("finds a difference exactly where two nodes of the generation tell another chain", () => {
    fc.assert(
      fc.property(fc.array(report, { maxLength: 4 }), (reports) => {
        const named = reports.map((each, index) => [`n${index}`, each] as const);
        const { diverged } = compareChains(named, 1);
        const tells = reports
          .filter(({ generation }) => generation === 1)
          .map((each) => new Map([...each.checkpoints, [each.seq, each.chain] as const]));
        const differ = [0, 1, 2, 3, 4, 5].filter((seq) => {
          const told = tells.flatMap((own) => own.get(seq) ?? []);
          return new Set(told).size > 1;
        });
        expect(diverged?.seq).toBe(differ.at(-1));
      }),
    );
  });
});

describe("viewOf", () => {
  it("leaves out what no release of ours has told", async () => {
    const told = { a: reportOf(), b: { seq: 3 }, c: null, d: "text" };
    const found = new Map(
      Object.entries(told).map(([node, each]) => [node, { told: each, revision: 1, keptMs: NOW }]),
    );
    const log = {
      generation: 1,
      readState: () => Promise.resolve(STATE),
      readReports: () => Promise.resolve(found),
      unsealedReports: ["f"],
      inventedGenerations: [7],
    };
    const view = await readClusterView(log);
    expect(view.reports.map(([node]) => node)).toEqual(["a"]);
    const { problems, is_sound: isSound } = buildClusterOverview("prod", view, {
      atMs: NOW,
      sinceMs: 0,
    });
    expect(isSound).toBe(false);
    expect(problems).toEqual([
      expect.stringMatching(/^reports in the names `f` carry no valid seal.*credentials/),
      expect.stringMatching(/^no node of this cluster has written generation 7 /),
    ]);
  });
});
