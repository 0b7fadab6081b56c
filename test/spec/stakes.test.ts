// SPEC §2.3 to §2.5, §3: one decision at stakes behind every door. Check, handshake, verify, AuthZEN, the
// gateway route, explain and replay agree about an agent, and a record that verify denies connects nowhere.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReplayableLeg } from "../../src/contract/schemas/decisions.ts";
import type { OutcomeRequest } from "../../src/contract/schemas/outcomes.ts";
import type { CheckResponse, VerifyResponse } from "../../src/contract/schemas/scores.ts";
import { DECISIONS, VERDICT, VERDICTS } from "../../src/contract/vocabulary.ts";
import { legOf } from "../store/_decisions.ts";
import { NOW_MS } from "./_clock.ts";
import { AGENTS as WORLD_AGENTS, openWorld, post, principal } from "./_world.ts";
import type { World } from "./_world.ts";

const STAKES = [0.01, 20, 250, 5000, 1e6] as const;
const LEVELS = ["L2", "L3"] as const;
/** Beside the agents of the world: failing now and then, often, and nearly always. */
const FAILED_OF_40 = { slipping: 3, doubtful: 14, hopeless: 37 } as const;
const AGENTS = [
  ...Object.values(WORLD_AGENTS),
  ...Object.keys(FAILED_OF_40).map((name) => `agent://spec/${name}`),
];
/** Has no record and no dealings: the other side of each handshake. */
const STRANGER = "agent://spec/stranger";
const HOUR_MS = 3_600_000;

let world: World;
const logged: ReplayableLeg[] = [];

function history(name: keyof typeof FAILED_OF_40): OutcomeRequest[] {
  const failed = FAILED_OF_40[name];
  return Array.from({ length: 40 }, (_, i) => ({
    subject: `agent://spec/${name}`,
    reporter: `agent://spec/witness-${i}`,
    // Spread evenly, so that no failures come together.
    outcome: Math.floor(((i + 1) * failed) / 40) > Math.floor((i * failed) / 40) ? 0 : 1,
    stakes: 40,
    grade: "escrow",
    settled_at: NOW_MS - (40 - i) * 30 * HOUR_MS,
  }));
}

beforeAll(async () => {
  world = await openWorld({
    admit: () => true,
    record: (entry) => void logged.push(legOf(entry)),
  });
  const call = { requestId: "spec-stakes", principal };
  for (const name of Object.keys(FAILED_OF_40) as (keyof typeof FAILED_OF_40)[]) {
    await world.bureau.importOutcomes(history(name), "spec", call);
  }
});
afterAll(() => world.close());

type Level = (typeof LEVELS)[number];

const ask = (agent: string, level: Level, stakes: number) => ({
  agent_id: agent,
  action: "payments.transfer",
  tool_level: level,
  stakes,
  context: {},
});

/** What a verify comes to, on the scale of check's decisions: 3 refuses, 2 waits for a person. */
function rank({ policy_action: { verdict }, review }: VerifyResponse): number {
  if (verdict === "QUARANTINE" || review !== undefined) return 2;
  return { ALLOW: 0, CHALLENGE: 1, BLOCK: 3 }[verdict];
}

/** By agent and stakes, what door 0 says. */
async function forEachCase(
  visit: (agent: string, stakes: number, check: CheckResponse) => Promise<void>,
): Promise<void> {
  for (const agent of AGENTS) {
    for (const stakes of STAKES)
      await visit(agent, stakes, await world.doors[0]!.check(agent, stakes));
  }
}

describe("the decision at stakes", () => {
  test("of check is the same behind every door, and comes in every kind", async () => {
    const kinds = new Set<string>();
    await forEachCase(async (agent, stakes, { decision, allowed, max_stakes: most }) => {
      kinds.add(decision);
      for (const door of world.doors) {
        const answer = await door.check(agent, stakes);
        expect(answer).toMatchObject({ decision, allowed, max_stakes: most });
      }
      expect(allowed).toBe(DECISIONS.indexOf(decision) <= 1);
    });
    expect([...kinds].toSorted()).toEqual(DECISIONS.toSorted());
  });

  test("of verify at L2 is check's or stricter, and L3 is no looser than L2", async () => {
    const seen = new Set<number>();
    await forEachCase(async (agent, stakes, { decision }) => {
      const asked = LEVELS.map((level) => world.doors[0]!.verify(ask(agent, level, stakes)));
      const [second, third] = await Promise.all(asked);
      const name = `${agent} at ${stakes}`;
      const index = DECISIONS.indexOf(decision);
      // Beside the stakes a bound of the level may challenge what check connects.
      if (index > 0) expect(rank(second!), name).toBe(index);
      expect(rank(third!), name).toBeGreaterThanOrEqual(rank(second!));
      const severity = ({ policy_action: { verdict } }: VerifyResponse) =>
        VERDICTS.indexOf(verdict);
      expect(severity(third!), name).toBeGreaterThanOrEqual(severity(second!));
      seen.add(rank(second!));
    });
    expect(seen).toEqual(new Set([0, 1, 2, 3]));
  });

  test("of a record that verify denies connects in no check and no handshake", async () => {
    let denied = 0;
    await forEachCase(async (agent, stakes, check) => {
      const asked = LEVELS.map((level) => world.doors[0]!.verify(ask(agent, level, stakes)));
      const isDenied = (await Promise.all(asked)).some(
        ({ policy_action: { verdict } }) => VERDICTS.indexOf(verdict) >= VERDICT.QUARANTINE,
      );
      if (!isDenied) return;
      denied += 1;
      expect(check).toMatchObject({ allowed: false, max_stakes: 0 });
      for (const [a, b] of [
        [STRANGER, agent],
        [agent, STRANGER],
      ] as const) {
        for (const door of world.doors) {
          expect(await door.handshake(a, b, stakes)).toMatchObject({ connected: false });
        }
      }
    });
    expect(denied).toBeGreaterThanOrEqual(2 * STAKES.length);
  });

  test("of a handshake is the stricter leg, and no leg connects above its `max_stakes`", async () => {
    await forEachCase(async (agent, stakes) => {
      const [first, ...others] = await Promise.all(
        world.doors.map((door) => door.handshake(STRANGER, agent, stakes)),
      );
      const { a_to_b: leg, b_to_a: other, decision } = first!;
      for (const each of others) expect(each).toMatchObject({ a_to_b: leg, decision });
      const strictness = [leg, other].map((each) => DECISIONS.indexOf(each.decision));
      expect(DECISIONS.indexOf(decision)).toBe(Math.max(...strictness));
      const { max_stakes: most } = leg;
      if (strictness[0]! <= 1) expect(most ?? Infinity).toBeGreaterThanOrEqual(stakes);
      else expect(most).toBeLessThan(stakes);
    });
  });

  test.each(LEVELS)(
    "of AuthZEN and of the gateway route is that of verify at %s",
    async (level) => {
      await forEachCase(async (agent, stakes) => {
        for (const url of world.urls) {
          const own = await (await post(url, "/v1/trust/verify", ask(agent, level, stakes))).json();
          const { policy_action: policy, review } = own as VerifyResponse;
          const properties = { tool_level: level, stakes };
          const evaluation = await post(url, "/access/v1/evaluation", {
            subject: { type: "agent", id: agent },
            action: { name: "payments.transfer", properties },
            resource: { type: "payments", id: "1" },
          });
          const isAllowed = policy.verdict === "ALLOW";
          expect(await evaluation.json()).toMatchObject({
            decision: isAllowed,
            context: { verdict: policy.verdict, log_reason: policy.log_reason },
          });
          const named = new URLSearchParams({ agent_id: agent, tool_level: level });
          const query = `${named.toString()}&profile=envoy&stakes=${stakes}&challenge=step-up&acr_values=phr`;
          const headers = { authorization: `Bearer ${world.key}` };
          const answer = await fetch(`${url}/v1/gateway/authorize?${query}`, { headers });
          expect(answer.headers.get("x-trust-verdict")).toBe(policy.verdict);
          expect(answer.headers.get("x-trust-reason")).toBe(policy.log_reason);
          expect(answer.headers.get("x-trust-review")).toBe(review?.id ?? null);
          const isLogin = policy.verdict === "CHALLENGE" && review === undefined;
          expect(answer.status).toBe(isAllowed ? 200 : isLogin ? 401 : 403);
        }
      });
    },
  );

  test("in explain is the one that check gives, by the stakes that count without any", async () => {
    for (const agent of AGENTS) {
      const answer = await fetch(`${world.urls[0]}/v1/agents/${encodeURIComponent(agent)}`, {
        headers: { authorization: `Bearer ${world.key}` },
      });
      const explained = (await answer.json()) as {
        assumed_stakes: Record<Level, number>;
        decisions: { stakes: number; decision: string; max_stakes: number | null }[];
      };
      expect(explained.decisions.length).toBeGreaterThan(3);
      for (const { stakes, ...decided } of explained.decisions) {
        expect(await world.doors[1]!.check(agent, stakes)).toMatchObject(decided);
      }
      for (const level of LEVELS) {
        const { stakes: _, ...unnamed } = ask(agent, level, 0);
        const [without, assumed] = await Promise.all([
          world.doors[0]!.verify(unnamed),
          world.doors[0]!.verify(ask(agent, level, explained.assumed_stakes[level])),
        ]);
        expect(without.policy_action, `${agent} at ${level}`).toEqual(assumed.policy_action);
        expect(without.max_stakes).toBe(assumed.max_stakes);
      }
    }
  });

  test("is the same when it is replayed from the log", async () => {
    await forEachCase(async (agent, stakes) => {
      for (const decide of [
        () => world.doors[0]!.check(agent, stakes),
        () => world.doors[0]!.handshake(STRANGER, agent, stakes),
        () => world.doors[0]!.verify(ask(agent, "L2", stakes)),
        () => world.doors[0]!.verify(ask(agent, "L3", stakes)),
      ]) {
        logged.length = 0;
        await decide();
        expect(logged.length).toBeGreaterThan(0);
        const replayed = world.bureau.replayDecision(logged, undefined);
        expect(replayed).toMatchObject({ identical: true, differences: [] });
      }
    });
  });
});
