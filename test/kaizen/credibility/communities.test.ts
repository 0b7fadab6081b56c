// Communities of the report graph: markets that deal among themselves are told apart, the same way
// every time, and a graph without reports has none.
import { describe, expect, it } from "vitest";
import { detectCommunities } from "../../../src/kaizen/credibility/reporter-graph.ts";
import { createSeededRandom } from "../../../src/kaizen/model/bootstrap.ts";

const MARKET = 40;

/** Reports within markets of forty agents, one in fifty across. */
function marketsOf(markets: number, reports: number, seed: number) {
  const random = createSeededRandom(seed);
  const agents = markets * MARKET;
  const someone = (market: number) => market * MARKET + Math.floor(MARKET * random.uniform());
  const reporters = new Uint32Array(reports);
  const subjects = new Uint32Array(reports);
  for (let i = 0; i < reports; i++) {
    reporters[i] = someone(i % markets);
    const market = random.uniform() < 0.02 ? Math.floor(markets * random.uniform()) : i % markets;
    subjects[i] = someone(market);
  }
  return { agents, reporters, subjects, count: reports };
}

describe("communities", () => {
  it("are the markets that deal among themselves", () => {
    const edges = marketsOf(5, 4000, 1);
    const found = detectCommunities(edges, createSeededRandom(7));
    const ofMarket = Array.from(
      { length: 5 },
      (_, market) => new Set(found.subarray(market * MARKET, (market + 1) * MARKET)),
    );
    expect(ofMarket.map((own) => own.size)).toEqual([1, 1, 1, 1, 1]);
    expect(new Set(ofMarket.flatMap((own) => [...own])).size).toBe(5);
  });

  it("are the same for the same seed", () => {
    const edges = marketsOf(4, 600, 2);
    expect(detectCommunities(edges, createSeededRandom(3))).toEqual(
      detectCommunities(edges, createSeededRandom(3)),
    );
  });

  it("are none without reports, nor of agents that are in none", () => {
    const none = {
      agents: 3,
      reporters: new Uint32Array(0),
      subjects: new Uint32Array(0),
      count: 0,
    };
    expect([...detectCommunities(none, createSeededRandom(1))]).toEqual([0, 0, 0]);
    const one = { agents: 4, reporters: [0, 2], subjects: [1, 2], count: 2 };
    const found = detectCommunities(one, createSeededRandom(1));
    expect(found[0]).toBe(found[1]);
    expect([...found.subarray(2)]).toEqual([0, 0]);
  });
});
