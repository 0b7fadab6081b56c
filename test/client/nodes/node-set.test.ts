// Picking a node: the same agent at the same node while it lives, by any order of the addresses; rests
// that grow and end with an answer. Properties over random addresses, agents and histories.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NodeSet } from "../../../src/client/nodes/node-set.ts";

interface Model {
  nowMs: number;
  /** Addresses that are probed with success. */
  ready: Set<string>;
  probed: string[];
}

function open(addresses: readonly string[], roundRobinStart = 0) {
  const model: Model = { nowMs: 1, ready: new Set(), probed: [] };
  const nodes = new NodeSet<string>({
    nodes: addresses.map((address) => [address, address]),
    clock: () => model.nowMs,
    roundRobinStart,
    probe: async (node) => {
      model.probed.push(node);
      return model.ready.has(node);
    },
  });
  const first = (agentId?: string) => nodes.orderFor(agentId).live[0]?.node;
  const stateOf = (address: string) => {
    const { live, resting } = nodes.orderFor("any");
    return [...live, ...resting].find(({ node }) => node === address)!;
  };
  return { nodes, model, first, stateOf };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

const address = fc.webUrl({ validSchemes: ["http", "https"] });
const addresses = fc.uniqueArray(address, { minLength: 2, maxLength: 8 });
const agents = fc.array(fc.string(), { minLength: 1, maxLength: 20 });

describe("the pick", () => {
  it("is the same for every client, whatever the order of its addresses", () => {
    fc.assert(
      fc.property(addresses, agents, fc.nat(), (given, asked, turn) => {
        const one = open(given);
        const other = open(given.toReversed(), turn);
        for (const agent of asked) expect(other.first(agent)).toBe(one.first(agent));
      }),
    );
  });

  it("moves the agents of a node that goes, and nobody else's", () => {
    fc.assert(
      fc.property(addresses, agents, fc.nat(7), (given, asked, at) => {
        const gone = given[at % given.length]!;
        const before = open(given);
        const after = open(given);
        after.nodes.recordFailure(after.stateOf(gone));
        for (const agent of asked) {
          const was = before.first(agent);
          const now = after.first(agent);
          expect(now).not.toBe(gone);
          if (was !== gone) expect(now).toBe(was);
          // The second choice is where its agents go.
          else expect(now).toBe(before.nodes.orderFor(agent).live[1]!.node);
        }
      }),
    );
  });

  it("spreads agents evenly, and requests about nobody in turn", () => {
    const given = ["http://a:1", "http://a:2", "http://a:3", "http://a:4"];
    const { first } = open(given);
    const counts = new Map<string, number>();
    const nobody = new Map<string, number>();
    for (let at = 0; at < 4000; at += 1) {
      for (const [into, node] of [
        [counts, first(`agent://acme/a-${at}`)!],
        [nobody, first()!],
      ] as const) {
        into.set(node, (into.get(node) ?? 0) + 1);
      }
    }
    for (const each of [...counts.values(), ...nobody.values()]) {
      expect(each).toBeGreaterThan(800);
      expect(each).toBeLessThan(1200);
    }
  });

  it("offers every node exactly once, whatever has happened", async () => {
    const step = fc.record({
      at: fc.nat(7),
      what: fc.constantFrom("failed", "late", "answered", "ready"),
      afterMs: fc.nat(40_000),
      retryAfterMs: fc.nat(120_000),
    });
    await fc.assert(
      fc.asyncProperty(addresses, fc.array(step, { maxLength: 40 }), async (given, steps) => {
        const { nodes, model, stateOf } = open(given);
        for (const { at, what, afterMs, retryAfterMs } of steps) {
          model.nowMs += afterMs;
          const node = given[at % given.length]!;
          const state = stateOf(node);
          model.ready.delete(node);
          if (what === "failed") nodes.recordFailure(state, retryAfterMs);
          else if (what === "late") nodes.recordLateAnswer(state);
          else if (what === "answered") nodes.recordAnswer(state);
          else model.ready.add(node);
          await Promise.resolve();
          const { live, resting } = nodes.orderFor("agent");
          expect([...live, ...resting].map((each) => each.node).toSorted()).toEqual(
            given.toSorted(),
          );
          // No rest is for ever: half a minute, or the minute that a node may ask for.
          for (const { backoffUntilMs } of resting) {
            expect(backoffUntilMs - model.nowMs).toBeLessThanOrEqual(60_000);
          }
          if (what === "answered") expect(live.map((each) => each.node)).toContain(node);
        }
      }),
    );
  });
});

describe("a rest", () => {
  it("grows from one second to thirty, and an answer ends it", async () => {
    const { nodes, model, stateOf } = open(["http://a", "http://b"]);
    const rests: number[] = [];
    for (let fault = 0; fault < 7; fault += 1) {
      const state = stateOf("http://a");
      nodes.recordFailure(state);
      rests.push(state.backoffUntilMs - model.nowMs);
      model.ready.add("http://a");
      model.nowMs = state.backoffUntilMs;
      nodes.orderFor("agent");
      await settled();
      expect(state.backoffUntilMs).toBe(0);
    }
    expect(rests).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    nodes.recordAnswer(stateOf("http://a"));
    nodes.recordFailure(stateOf("http://a"));
    expect(stateOf("http://a").backoffUntilMs - model.nowMs).toBe(1000);
  });

  it("is not made longer by requests that found nobody else", () => {
    const { nodes, stateOf } = open(["http://a", "http://b"]);
    nodes.recordFailure(stateOf("http://a"));
    const { backoffUntilMs } = stateOf("http://a");
    for (let at = 0; at < 50; at += 1) nodes.recordFailure(stateOf("http://a"));
    expect(stateOf("http://a").backoffUntilMs).toBe(backoffUntilMs);
  });

  it("is over after one probe that succeeds, and again as long after one that fails", async () => {
    const { nodes, model, stateOf } = open(["http://a", "http://b"]);
    const state = stateOf("http://a");
    nodes.recordFailure(state);
    nodes.orderFor("agent");
    expect(model.probed).toEqual([]);
    model.nowMs += 1000;
    nodes.orderFor("agent");
    nodes.orderFor("agent");
    expect(model.probed).toEqual(["http://a"]);
    await settled();
    expect(state.backoffUntilMs - model.nowMs).toBe(2000);
    model.nowMs += 2000;
    model.ready.add("http://a");
    nodes.orderFor("agent");
    await settled();
    expect(nodes.orderFor("agent").resting).toEqual([]);
  });

  it("comes with the third late answer in a row", () => {
    const { nodes, stateOf } = open(["http://a", "http://b"]);
    const state = stateOf("http://a");
    nodes.recordLateAnswer(state);
    nodes.recordLateAnswer(state);
    nodes.recordAnswer(state);
    nodes.recordLateAnswer(state);
    nodes.recordLateAnswer(state);
    expect(state.backoffUntilMs).toBe(0);
    nodes.recordLateAnswer(state);
    expect(state.backoffUntilMs).toBeGreaterThan(0);
  });
});
