// Promotion of a config under which a tenant's policy would decide larger stakes more mildly: refused, and
// nothing changes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fillPolicyDefaults } from "../../../src/contract/complete-policy.ts";
import type { StakesPolicy } from "../../../src/contract/stakes-policy.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { Champion } from "../../../src/kaizen/service/champion.ts";
import { KaizenFiles } from "../../../src/kaizen/service/files.ts";
import type { RunRecord } from "../../../src/kaizen/kaizen.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";

const AT_MS = Date.parse("2026-06-01T00:00:00Z");
const shipped = loadDefaultConfig();
/** Verifying catches less: it must cost less, too. */
const weaker = { ...shipped, name: "weaker", verify_catch: 0.4 };
const ledger = {
  appendConfig: async () => 1,
  installConfig: async () => undefined,
  position: () => 1,
};

async function promoteUnder(stakes: StakesPolicy) {
  const dataDir = mkdtempSync(join(tmpdir(), "kaizen-champion-"));
  try {
    const champion = new Champion(new KaizenFiles(dataDir), ledger, shipped);
    const active = createActivePolicy(fillPolicyDefaults({ stakes }));
    champion.policies = { listActivePolicies: () => [["acme", active]] };
    const run: RunRecord = {
      run_id: "k-20260601-000000000",
      state: "promoted",
      started_at: new Date(AT_MS).toISOString(),
      started_by: "test",
      champion_version: champion.version,
      reason: "",
      rows: 1,
      position: 1,
    };
    const before = champion.version;
    const isPromoted = await champion
      .promote(run, weaker, (state) => state, { nowMs: AT_MS })
      .catch((error: Error) => error);
    return { isPromoted, isSame: champion.version === before };
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

it("is refused with the tenant and the member", async () => {
  const { isPromoted, isSame } = await promoteUnder({ review_cost: 5, verification_cost: 4 });
  expect(isPromoted).toMatchObject({ code: "run_not_promotable" });
  expect((isPromoted as Error & { detail: string }).detail).toMatch(/`acme`.*verification_cost/);
  expect(isSame).toBe(true);
});

it("is made where every policy still holds", async () => {
  expect(await promoteUnder({ review_cost: 5 })).toEqual({ isPromoted: true, isSame: false });
});
