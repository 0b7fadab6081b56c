// Changes of the weights by several nodes over one log: whoever stands first in it has changed them, and
// what another node had in hand by then is dropped on every node, its own included.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { loadDefaultConfig, type ScoringConfig } from "../../../src/engine/config.ts";
import type { RunRecord } from "../../../src/kaizen/kaizen.ts";
import { Champion } from "../../../src/kaizen/service/champion.ts";
import { KaizenFiles, computeConfigVersion } from "../../../src/kaizen/service/files.ts";
import { SharedPromotions } from "../../../src/kaizen/service/shared-promotions.ts";

const AT_MS = Date.UTC(2026, 5, 1);
const shipped = loadDefaultConfig();
const learnt = (name: string): ScoringConfig => ({ ...shipped, name });
const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

/** A log whose order the test decides: what is appended waits until it is delivered. */
class TestLog {
  readonly nodes: TestNode[] = [];
  readonly recorded: Buffer[] = [];
  /** `from`: the process that appended; after a restart its node is another. */
  waiting: { from: SharedPromotions; payload: Buffer; resolve: (lsn: number) => void }[] = [];

  /** Gives the waiting change at this index its place, and tells every node of it in order. */
  async deliver(index: number): Promise<void> {
    const [next] = this.waiting.splice(index % this.waiting.length, 1);
    const lsn = this.recorded.push(next!.payload);
    for (const { shared } of this.nodes) {
      if (shared !== next!.from) shared.learn(next!.payload, lsn);
    }
    next!.resolve(lsn);
    await settled();
  }
}

class TestNode {
  readonly directory = mkdtempSync(join(tmpdir(), "kaizen-shared-"));
  readonly installed: string[] = [];
  shared: SharedPromotions;
  champion: Champion;
  readonly #log: TestLog;

  constructor(log: TestLog) {
    this.#log = log;
    directories.push(this.directory);
    log.nodes.push(this);
    this.shared = new SharedPromotions(log.recorded);
    this.champion = this.#open();
  }

  restart(): void {
    this.shared = new SharedPromotions([...this.#log.recorded]);
    this.champion = this.#open();
  }

  #open(): Champion {
    const { shared } = this;
    const ledger = {
      appendConfig: (payload: Uint8Array) =>
        new Promise<number>((resolve) => {
          this.#log.waiting.push({ from: shared, payload: Buffer.from(payload), resolve });
        }),
      installConfig: async (config: unknown) => {
        this.installed.push(computeConfigVersion(config as ScoringConfig));
      },
      position: () => this.#log.recorded.length,
    };
    return new Champion(new KaizenFiles(this.directory), ledger, shipped, shared);
  }

  promote(id: number, config: ScoringConfig): Promise<boolean> {
    const run: RunRecord = {
      run_id: `k-20260601-${String(id).padStart(9, "0")}`,
      state: "promoted",
      started_at: new Date(AT_MS).toISOString(),
      started_by: "test",
      champion_version: this.champion.version,
      reason: "",
      rows: 1,
      position: 1,
    };
    return this.champion.promote(run, config, (state) => state, { nowMs: AT_MS + id });
  }

  /** As a run does that keeps the weights. */
  keep(testedMs: number, side: "check" | "handshake" = "check"): Promise<void> {
    return this.champion.keep((state) => {
      return { ...state, tested_to_ms: { ...state.tested_to_ms, [side]: testedMs } };
    });
  }
}

/** Changes are made in turns of the event loop. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it("drops the promotion of a node that was paused while another promoted", async () => {
  const log = new TestLog();
  const [paused, other] = [new TestNode(log), new TestNode(log)];
  const [late, made] = [paused.promote(1, learnt("late")), other.promote(2, learnt("made"))];
  await settled();
  await log.deliver(1);
  await log.deliver(0);
  expect(await made).toBe(true);
  expect(await late).toBe(false);
  for (const { champion, installed } of log.nodes) {
    expect(champion.version).toBe(computeConfigVersion(learnt("made")));
    expect(installed).toEqual([computeConfigVersion(learnt("made"))]);
    expect(champion.state.promotions.map(({ at_ms: atMs }) => atMs)).toEqual([AT_MS + 2]);
  }
});

it("drops a paused node's promotion where the same weights are live again", async () => {
  const log = new TestLog();
  const [paused, other] = [new TestNode(log), new TestNode(log)];
  const late = paused.promote(1, learnt("late"));
  const made = other.promote(2, learnt("made"));
  await settled();
  await log.deliver(1);
  expect(await made).toBe(true);
  const back = other.champion.rollBack("worse", AT_MS + 5);
  await settled();
  await log.deliver(1);
  await back;
  expect(other.champion.version).toBe(computeConfigVersion(shipped));
  await log.deliver(0);
  expect(await late).toBe(false);
  const fresh = new TestNode(log);
  fresh.restart();
  for (const { champion } of [paused, other, fresh]) {
    expect(champion.version).toBe(computeConfigVersion(shipped));
    expect(champion.state.promotions.map(({ at_ms: atMs }) => atMs)).toEqual([AT_MS + 2]);
  }
  // What is tested against the weights as they are now holds.
  const next = paused.promote(3, learnt("next"));
  await settled();
  await log.deliver(0);
  expect(await next).toBe(true);
  expect(other.champion.version).toBe(computeConfigVersion(learnt("next")));
});

it("takes a promotion back on every node", async () => {
  const log = new TestLog();
  const [one, two] = [new TestNode(log), new TestNode(log)];
  const promoted = one.promote(1, learnt("one"));
  await settled();
  await log.deliver(0);
  await promoted;
  const back = two.champion.rollBack("worse", AT_MS + 5);
  await settled();
  await log.deliver(0);
  expect(await back).toMatchObject({ left: computeConfigVersion(shipped) });
  expect(one.champion.version).toBe(computeConfigVersion(shipped));
  expect(one.champion.state).toEqual(two.champion.state);
});

it("tests no evidence twice: what one node has spent is spent on all", async () => {
  const log = new TestLog();
  const [one, two] = [new TestNode(log), new TestNode(log)];
  const kept = one.keep(AT_MS + 1);
  // The other has tested the same evidence, and would promote.
  const late = two.promote(2, learnt("late"));
  await settled();
  await log.deliver(0);
  await kept;
  await log.deliver(0);
  expect(await late).toBe(false);
  const fresh = new TestNode(log);
  fresh.restart();
  for (const { champion } of [one, two, fresh]) {
    expect(champion.version).toBe(computeConfigVersion(shipped));
    expect(champion.state).toMatchObject({ changes: 1, promotions: [] });
    expect(champion.state.tested_to_ms.check).toBe(AT_MS + 1);
  }
  expect([...one.installed, ...two.installed], "the weights stay").toEqual([]);
});

it("keeps what two nodes have spent at the same time", async () => {
  const log = new TestLog();
  const [one, two] = [new TestNode(log), new TestNode(log)];
  const both = [one.keep(AT_MS + 1), two.keep(AT_MS + 2, "handshake")];
  await settled();
  await log.deliver(1);
  await log.deliver(0);
  // The one that came second is made once more, of what the first has left.
  await log.deliver(0);
  await Promise.all(both);
  for (const { champion } of log.nodes) {
    expect(champion.state.changes).toBe(2);
    expect(champion.state.tested_to_ms).toEqual({ check: AT_MS + 1, handshake: AT_MS + 2 });
  }
});

it("takes a promotion back that another node's run has left as it was meanwhile", async () => {
  const log = new TestLog();
  const [one, two] = [new TestNode(log), new TestNode(log)];
  const promoted = one.promote(1, learnt("one"));
  await settled();
  await log.deliver(0);
  await promoted;
  const [kept, back] = [one.keep(AT_MS + 2), two.champion.rollBack("worse", AT_MS + 5)];
  await settled();
  await log.deliver(0);
  await kept;
  await log.deliver(0);
  await log.deliver(0);
  expect(await back).toMatchObject({ left: computeConfigVersion(shipped) });
  for (const { champion } of log.nodes)
    expect(champion.version).toBe(computeConfigVersion(shipped));
  expect(one.champion.state).toEqual(two.champion.state);
});

it("hands on what a bureau has promoted while it was alone", async () => {
  const log = new TestLog();
  const [old, other] = [new TestNode(log), new TestNode(log)];
  const files = new KaizenFiles(old.directory);
  const version = files.keepConfig(learnt("own"));
  const promotion = {
    run_id: "k-20260101-000000001",
    version,
    parent: computeConfigVersion(shipped),
  };
  const promotions = [{ ...promotion, at_ms: AT_MS }];
  files.saveState({ ...old.champion.state, champion: version, promotions });
  old.restart();
  const shared = old.champion.share();
  await settled();
  await log.deliver(0);
  await shared;
  expect(other.champion.version).toBe(version);
  expect(other.champion.state.promotions).toEqual(promotions);
  // Once: the log has it now.
  await Promise.all([old.champion.share(), other.champion.share()]);
  expect(log.waiting).toEqual([]);
});

/** The live weights promoted once more, by a process that has ended since. */
const AGAIN = [
  { kind: "promote" as const, node: 0, name: 7 },
  { kind: "deliver" as const, node: 0, name: 0 },
  { kind: "promote" as const, node: 0, name: 7 },
  { kind: "restart" as const, node: 0, name: 0 },
  { kind: "promote" as const, node: 0, name: 0 },
];

it("ends with the same weights on all nodes, in whatever order and with stops between", async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("promote" as const), node: fc.nat(2), name: fc.nat(9) }),
    fc.record({ kind: fc.constant("take back" as const), node: fc.nat(2), name: fc.nat(9) }),
    fc.record({ kind: fc.constant("keep" as const), node: fc.nat(2), name: fc.nat(9) }),
    fc.record({ kind: fc.constant("deliver" as const), node: fc.nat(5), name: fc.nat(9) }),
    fc.record({ kind: fc.constant("restart" as const), node: fc.nat(2), name: fc.nat(9) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const log = new TestLog();
      const nodes = [new TestNode(log), new TestNode(log), new TestNode(log)];
      let id = 0;
      for (const { kind, node, name } of steps) {
        if (kind === "promote") void nodes[node]!.promote(++id, learnt(`weights ${name}`));
        else if (kind === "take back") void nodes[node]!.champion.rollBack("worse", AT_MS + ++id);
        else if (kind === "keep") void nodes[node]!.keep(AT_MS + ++id);
        else if (kind === "restart") nodes[node]!.restart();
        else if (log.waiting.length > 0) await log.deliver(node);
        await settled();
      }
      while (log.waiting.length > 0) await log.deliver(0);
      const versions = nodes.map(({ champion }) => champion.version);
      expect(new Set(versions).size).toBe(1);
      const fresh = new TestNode(log);
      fresh.restart();
      expect(fresh.champion.version).toBe(versions[0]);
      for (const { champion } of nodes) expect(champion.state).toEqual(fresh.champion.state);
    }),
    { numRuns: 15, examples: [[AGAIN]] },
  );
});
