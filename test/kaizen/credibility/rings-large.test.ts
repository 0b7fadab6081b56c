// The bar for rings and severity over markets of 200,000 outcomes: rings of 5 to 12 with seeds none, 10 %
// and 30 %, the odd reporters, and clean markets, which raise no finding in 19 of 20 seeds.
import { expect, test } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { parseSeedRules } from "../../../src/kaizen/credibility/seeds.ts";
import {
  computeRingMarks,
  computeStandingBatch,
  createStandingPolicy,
} from "../../../src/kaizen/credibility/standings.ts";
import { openFindingRows, readHeads } from "../../store/rows/_finding-rows.ts";
import { buildHistory, judgeMarket } from "./_judged-market.ts";
import { generateMarket } from "./_market.ts";

const OUTCOMES = 200_000;
const POLICY = createStandingPolicy(loadDefaultConfig());

test.each([5, 7, 9, 12])(
  "a ring of %i is found, not believed and not allowed at L3",
  async (ring) => {
    const twoWayShare = ring === 9 ? 0.5 : 0;
    const market = generateMarket({
      outcomes: OUTCOMES,
      seed: ring,
      ring,
      hasOddAgents: true,
      twoWayShare,
    });
    const history = buildHistory(market);
    for (const share of [0, 0.1, 0.3]) {
      const rules = parseSeedRules(market.seedRules(share));
      const { rings, standings } =
        share === 0 ? computeRingMarks(history) : computeStandingBatch(history, rules, POLICY)!;
      const members = rings.map((each) => [...each].map((agent) => history.ids[agent]!).toSorted());
      expect(members).toEqual([market.ring.toSorted()]);
      const believed = standings.agents.filter(
        ({ agent, credibility }) => credibility > 0 && market.ring.includes(agent),
      );
      expect(believed).toEqual([]);
      for (const when of [{ before: standings }, { after: standings }]) {
        const judge = judgeMarket(market, when);
        for (const member of market.ring) expect(judge(member).verdict).not.toBe("ALLOW");
      }
    }
    const rows = await openFindingRows(market);
    const heads = await readHeads(rows);
    expect(heads.ring).toEqual(market.ring.toSorted());
    expect(heads.lenient).toContain(market.lenient);
    expect(heads.harsh).toEqual(expect.arrayContaining(market.harsh));
    rows.close();
  },
);

test("of 20 clean markets at most one raises a finding", async () => {
  let raised = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const market = generateMarket({ outcomes: OUTCOMES, seed, twoWayShare: seed % 2 });
    const rows = await openFindingRows(market);
    if ((await rows.ask("FROM findings")).length > 0) raised++;
    rows.close();
  }
  expect(raised).toBeLessThanOrEqual(1);
});
