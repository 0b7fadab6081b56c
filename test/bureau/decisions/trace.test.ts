// The trace of a decision: every number is the recorded one, its parts add up to the score, its borders
// and rules come to what was decided, and what is not on record is said.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as layout from "../../../assembly/layout.ts";
import type { Bureau } from "../../../src/bureau/bureau.ts";
import { STANDING_NAME_BY_BIT } from "../../../src/bureau/decisions/trace.ts";
import type { ReplayableLeg } from "../../../src/contract/schemas/decisions.ts";
import { TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { legOf, openTable, principalOf } from "../../store/_decisions.ts";

const AGENTS = ["agent://shop/good", "agent://shop/bad", "agent://nobody/knows"] as const;
const config = loadDefaultConfig();
let bureau: Bureau;
let legs: ReplayableLeg[] = [];
let count = 0;

beforeAll(() => {
  ({ bureau } = openTable({
    admit: () => true,
    record: (entry) => void legs.push(legOf(entry)),
  }));
});
afterAll(() => void (legs = []));

const call = () => ({ requestId: `r-${(count += 1)}`, principal: principalOf("acme") });

/** The legs of what `ask` asked. */
async function logged(ask: () => unknown): Promise<ReplayableLeg[]> {
  legs = [];
  await ask();
  return legs;
}

const verify = (agent_id: string, tool_level: "L0" | "L1" | "L2" | "L3", stakes?: number) =>
  logged(() =>
    bureau.verify(
      {
        agent_id,
        action: "order.place",
        tool_level,
        context: {},
        ...(stakes === undefined ? {} : { stakes }),
      },
      call(),
    ),
  );

describe("a trace", () => {
  it("of a verify comes to the rule and verdict that were recorded", async () => {
    for (const agent of AGENTS) {
      for (const level of TOOL_LEVELS) {
        for (const stakes of [undefined, 40, 5000]) {
          const [leg] = await verify(agent, level, stakes);
          const { legs: traced, ...head } = bureau.traceDecision([leg!], config);
          expect(head).toMatchObject({
            verdict: leg!.verdict,
            tool_level: level,
            config_in_force: true,
            policy_in_force: true,
          });
          const deciding = traced[0]!.rules!.filter(({ decides }) => decides);
          expect(deciding.map(({ rule, gives }) => [rule, gives])).toEqual([
            [leg!.log_reason, leg!.verdict],
          ]);
        }
      }
    }
  });

  it("has parts that add up to the recorded log-odds", async () => {
    const parties = { initiator: "agent://acme/r1", counterparty: "agent://shop/bad", stakes: 70 };
    const found = [
      ...(await verify("agent://shop/bad", "L3", 900)),
      ...(await logged(() => bureau.handshake(parties, call()))),
    ];
    expect(found).toHaveLength(3);
    for (const leg of found) {
      const [traced] = bureau.traceDecision([leg], config).legs;
      const sum = traced!.features!.reduce((odds, { log_odds }) => odds + (log_odds ?? 0), 0);
      expect(sum).toBeCloseTo(traced!.score.log_odds, 9);
      expect(traced!.row).toMatchObject({ known: leg.known, standing: [] });
    }
  });

  it("has borders that come to the decision itself, whatever the stakes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...AGENTS),
        fc.double({ min: 0, max: 100_000, noNaN: true }),
        async (subject, stakes) => {
          const [leg] = await logged(() => bureau.check({ subject, stakes }, call()));
          const [traced] = bureau.traceDecision([leg!], config).legs;
          const { borders } = traced!.stakes;
          const { at_stakes: risk, refused, denied, thin } = traced!.risk;
          const ordered: [string, boolean, string][] = [
            ["refuse", refused === true, "refuse"],
            ["denied", denied === true, "escalate"],
            ["nearly_certain", thin === false && risk! > 0.8, "escalate"],
            ["connect", thin === false && risk! <= borders!.connect, "connect"],
            [
              "connect_with_verification",
              risk! <= borders!.connect_with_verification,
              "connect_with_verification",
            ],
            ["escalate", true, "escalate"],
          ];
          const [rule, , decision] = ordered.find(([, holds]) => holds)!;
          expect(decision).toBe(leg!.leg_decision);
          const deciding = traced!.rules!.filter(({ decides }) => decides);
          expect(deciding.map((each) => each.rule)).toEqual([rule]);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("says what it cannot say", async () => {
    const [leg] = await verify("agent://shop/bad", "L2");
    const [known] = bureau.traceDecision([leg!], config).legs;
    expect(known!.not_recorded.join()).toContain("sources that were cited");
    const [bare] = bureau.traceDecision([leg!], undefined).legs;
    expect(bare).toMatchObject({ features: null, stakes: { borders: null } });
    expect(bare!.not_recorded.join()).toContain("is not on file");
    const gone = { ...leg!, config_version: "c-0000000000000000" };
    const [unheld] = bureau.traceDecision([gone], undefined).legs;
    expect(unheld).toMatchObject({ rules: null, risk: { thin: null, refused: null } });
    expect(unheld!.not_recorded.join()).toContain("does not hold the config");
    const policy = { ...leg!, policy_version: "p-0000000000000000" };
    const [ruleless] = bureau.traceDecision([policy], config).legs;
    expect(ruleless!.rules).toBeNull();
    expect(ruleless!.not_recorded.join()).toContain("no policy `p-0000000000000000` is held");
    const [reserved] = await verify("agent://test/refuse", "L2");
    const [test] = bureau.traceDecision([reserved!], config).legs;
    expect(test).toMatchObject({ is_test: true, features: null, rules: null });
    expect(test!.not_recorded).toHaveLength(1);
    expect(() => bureau.traceDecision([], config)).toThrow("not_found");
  });

  it("names marks by the engine's bits", () => {
    expect(STANDING_NAME_BY_BIT).toEqual({
      [layout.FLAG_SEED]: "seed",
      [layout.FLAG_FRAUD]: "fraud",
      [layout.FLAG_KEY_REVOKED]: "key_revoked",
      [layout.FLAG_CREDIBILITY]: "believed",
      [layout.FLAG_SIGNS]: "signs",
      [layout.FLAG_DISCOUNTED]: "discounted",
    });
  });
});
