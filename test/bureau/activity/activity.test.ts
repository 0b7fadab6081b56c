// Counts and stakes in shared memory against a plain model, from several threads, and over a file.
import { randomFillSync } from "node:crypto";
import { Worker } from "node:worker_threads";
import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentActivity } from "../../../src/bureau/activity/activity.ts";
import { decodeHeld } from "../../../src/bureau/activity/held-file.ts";
import { computeFade, createActivityMemory } from "../../../src/bureau/activity/layout.ts";
import type { HeldStakes } from "../../../src/contract/activity/source.ts";

const START_MS = Date.UTC(2026, 4, 1);
const open = () => new AgentActivity(createActivityMemory(randomFillSync, START_MS));

/** The slow reference: every call with its stakes and what is left of them. */
class Model {
  readonly #calls = new Map<string, { agent: string; left: number; atMs: number }>();

  keep(stakes: HeldStakes, kept: number, nowMs: number): void {
    const agent = `${stakes.tenant} ${stakes.agent}`;
    this.#calls.set(`${agent} ${stakes.requestId}`, { agent, left: kept, atMs: nowMs });
  }

  settle({ tenant, agent, requestId, amount }: HeldStakes): void {
    const key = `${tenant} ${agent} ${requestId}`;
    const call = this.#calls.get(key);
    if (call === undefined) return;
    const left = call.left - Math.min(call.left, amount);
    // What is left cannot be settled again.
    this.#calls.delete(key);
    this.#calls.set(`${key} rest ${this.#calls.size}`, { ...call, left });
  }

  unsettled(tenant: string, name: string, nowMs: number): number {
    let sum = 0;
    for (const { agent, left, atMs } of this.#calls.values())
      if (agent === `${tenant} ${name}`) sum += left * computeFade(nowMs - atMs);
    return sum;
  }
}

const names = { tenant: fc.constantFrom("acme", "globex"), agent: fc.constantFrom("a", "b", "ab") };
const operation = fc.record({
  kind: fc.constantFrom("call", "call", "settle"),
  ...names,
  request: fc.nat(30),
  amount: fc.double({ min: 0.01, max: 1e6, noNaN: true }),
  share: fc.constantFrom(0, 0.2, 1),
  waitMs: fc.nat(3 * 86_400_000),
});

describe("unsettled stakes", () => {
  it("are what a plain sum over calls gives", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const activity = open();
        const model = new Model();
        let nowMs = START_MS;
        const used = new Set<string>();
        for (const { kind, tenant, agent, request, amount, share, waitMs } of operations) {
          nowMs += waitMs;
          const stakes = { tenant, agent, requestId: `r-${request}`, amount };
          const key = `${tenant} ${agent} ${request}`;
          if (kind === "settle") {
            activity.settle(stakes, nowMs);
            model.settle(stakes);
          } else if (!used.has(key)) {
            used.add(key);
            const before = activity.hold(stakes, nowMs);
            expect(before).toBeCloseTo(model.unsettled(tenant, agent, nowMs), 4);
            activity.keep(stakes, amount * share, nowMs);
            if (share > 0) model.keep(stakes, amount * share, nowMs);
          }
          for (const name of ["a", "b", "ab"]) {
            const expected = model.unsettled(tenant, name, nowMs);
            expect(activity.readUnsettled(tenant, name, nowMs)).toBeCloseTo(expected, 4);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it("lose nothing when threads add at once", async () => {
    const memory = createActivityMemory(randomFillSync, START_MS);
    const source = new URL("../../../src/bureau/activity/activity.ts", import.meta.url).href;
    const code = `
      const { workerData, parentPort } = require("node:worker_threads");
      import(${JSON.stringify(source)}).then(({ AgentActivity }) => {
        const activity = new AgentActivity(workerData.memory);
        for (let i = 0; i < 20000; i += 1) {
          const stakes = { tenant: "t", agent: "a", requestId: workerData.name + i, amount: 1 };
          activity.hold(stakes, ${START_MS});
          activity.keep(stakes, i % 4 === 0 ? 1 : 0, ${START_MS});
        }
        parentPort.postMessage("done");
      });`;
    const workers = ["x", "y", "z"].map(
      (name) => new Worker(code, { eval: true, workerData: { memory, name } }),
    );
    await Promise.all(workers.map((worker) => once(worker, "message")));
    await Promise.all(workers.map((worker) => worker.terminate()));
    expect(new AgentActivity(memory).readUnsettled("t", "a", START_MS)).toBeCloseTo(15_000, 6);
  });

  it("are bounded: the agent without stakes that was seen longest ago goes first", () => {
    const activity = open();
    activity.hold({ tenant: "t", agent: "debtor", requestId: "r", amount: 10 }, START_MS);
    for (let i = 0; i < 200_000; i += 1)
      activity.countCall("t", `crowd-${i}`, "a", START_MS + 60_000 * (1 + (i >> 12)));
    expect(activity.readUnsettled("t", "debtor", START_MS)).toBeCloseTo(10, 9);
  });

  it("are not displaced by names with smaller ones, however many and new", () => {
    const activity = open();
    const hold = (agent: string, amount: number, nowMs: number) => {
      const stakes = { tenant: "t", agent, requestId: agent, amount };
      activity.hold(stakes, nowMs);
      activity.keep(stakes, amount, nowMs);
    };
    hold("debtor", 10, START_MS);
    for (let i = 0; i < 150_000; i += 1) hold(`fresh-${i}`, 0.01, START_MS + 120_000 + i);
    expect(activity.readUnsettled("t", "debtor", START_MS)).toBeCloseTo(10, 9);
  });

  it("go on after a restart from the bytes of their file, and settle as before", () => {
    const before = open();
    const calls = Array.from({ length: 500 }, (_, i) => ({
      tenant: "t",
      agent: `agent-${i % 40}`,
      requestId: `r-${i}`,
      amount: 1 + i,
    }));
    for (const call of calls) {
      before.hold(call, START_MS);
      before.keep(call, call.amount, START_MS);
    }
    const bytes = Buffer.from(before.encode(START_MS));
    const after = open();
    after.restore(decodeHeld(bytes)!);
    for (let i = 0; i < 40; i += 1) {
      const agent = `agent-${i}`;
      expect(after.readUnsettled("t", agent, START_MS)).toBeCloseTo(
        before.readUnsettled("t", agent, START_MS),
        6,
      );
    }
    expect(after.settle(calls[3]!, START_MS)).toBe(4);
    expect(after.settle(calls[3]!, START_MS)).toBe(0);
  });

  it("count as none where the file is damaged at any byte", () => {
    const activity = open();
    const call = { tenant: "t", agent: "a", requestId: "r", amount: 5 };
    activity.hold(call, START_MS);
    activity.keep(call, 5, START_MS);
    const bytes = Buffer.from(activity.encode(START_MS));
    for (let at = 0; at < bytes.length; at += 1) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 0x10;
      expect(decodeHeld(damaged)).toBeUndefined();
      expect(decodeHeld(bytes.subarray(0, at))).toBeUndefined();
    }
  });
});

describe("counts of calls", () => {
  it("are those of the last hour, estimated over its border", () => {
    const activity = open();
    const count = (nowMs: number) => activity.countCall("t", "a", "act", nowMs).calls;
    for (let i = 0; i < 99; i += 1) count(START_MS);
    expect(count(START_MS)).toBe(100);
    expect(count(START_MS + 3_600_000)).toBe(101);
    expect(count(START_MS + 1.5 * 3_600_000)).toBe(2 + 50);
    expect(count(START_MS + 3 * 3_600_000)).toBe(1);
  });

  it("know an action for this day and the one after", () => {
    const activity = open();
    const isNew = (nowMs: number) => activity.countCall("t", "a", "act", nowMs).newActions === 1;
    const DAY_MS = 86_400_000;
    expect(isNew(START_MS)).toBe(true);
    expect(isNew(START_MS + DAY_MS)).toBe(false);
    expect(isNew(START_MS + 2 * DAY_MS)).toBe(false);
    expect(isNew(START_MS + 4 * DAY_MS)).toBe(true);
  });
});
