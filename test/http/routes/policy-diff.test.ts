// A draft policy on the verdicts that a real service has logged, those of its sample history and some asked here.
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { PolicyDiff } from "../../../src/contract/schemas/policy-diff.ts";
import { type SampleService, startSampleService } from "../../examples/_sample-service.ts";

const GOOD = "agent://acme/ledger-sync";
const ASKED = 30;
let service: SampleService;
const compare = (body: object) => service.post<PolicyDiff>("/v1/policy/diff", body);

beforeAll(async () => {
  service = await startSampleService();
  for (let i = 0; i < ASKED; i += 1) {
    await service.post("/v1/trust/verify", {
      agent_id: GOOD,
      action: "order.place",
      tool_level: "L2",
      context: {},
    });
  }
  const sql = `SELECT count(*) FROM decisions WHERE subject = '${GOOD}' AND key_id <> 'sample'`;
  await vi.waitFor(
    async () => {
      const { rows } = await service.post<{ rows: unknown[][] }>("/v1/query", { sql });
      if (Number(rows[0]![0]) !== ASKED) throw new Error(`${String(rows[0]![0])} are rows`);
    },
    { timeout: 30_000, interval: 200 },
  );
});
afterAll(() => service?.stop());

it("changes nothing under the policy by which the verdicts were made", async () => {
  const same = await compare({ policy: {} });
  expect(same).toMatchObject({ changed: 0, changes: [], agents: [] });
  expect(same.judged).toBeGreaterThan(ASKED);
});

it("names what would change, by level and reason, and the agents, over as many entries as asked", async () => {
  const policy = { levels: { L2: { allow_up_to: 0 }, L3: { allow_up_to: 0 } } };
  const strict = await compare({ policy, last: ASKED });
  const { changes, agents, ...counts } = strict;
  expect(counts).toMatchObject({ judged: ASKED, skipped: 0, changed: ASKED });
  expect(changes).toEqual([
    {
      before: "L2 ALLOW TRUST_SUFFICIENT",
      after: "L2 CHALLENGE RISK_ABOVE_BOUND",
      entries: ASKED,
      decisions: ASKED,
    },
  ]);
  expect(agents).toEqual([
    { agent: GOOD, changed: ASKED, newly_withheld: ASKED, newly_allowed: 0 },
  ]);
  const all = await compare({ policy });
  expect(all.changed).toBeGreaterThan(ASKED);
  expect(all.changes.reduce((sum, { entries }) => sum + entries, 0)).toBe(all.changed);
});

it("refuses a draft with a pointer, and a number of entries that is none", async () => {
  await expect(compare({ policy: { levels: { L2: { allow_up_to: 2 } } } })).rejects.toThrow(
    /400 .*"\/policy\/levels\/L2\/allow_up_to"/,
  );
  await expect(compare({ policy: {}, last: 0 })).rejects.toThrow(/400 .*"\/last"/);
  await expect(compare({ policy: {}, last: 10_001 })).rejects.toThrow(/400 .*"\/last"/);
  await expect(compare({ last: 5 })).rejects.toThrow(/400 .*"\/policy"/);
});
