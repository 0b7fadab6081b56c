// `trustrank doctor` on what tenants have set: nobody, one of two, all of them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { runCommand } from "./_process.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-doctor-"));
const dataDir = join(folder, "data");

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(...parameters: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand([...parameters, "--data-dir", dataDir]);
  expect(code, stderr).toBe(0);
  return stdout;
}

async function setPolicy(tenant: string, policy: object): Promise<void> {
  const path = join(folder, "policy.json");
  writeFileSync(path, JSON.stringify(policy));
  await run("policy", "set", path, "--tenant", tenant);
}

async function findStakes() {
  const { findings } = JSON.parse(await run("doctor", "--json")) as {
    findings: { part: string; ok: boolean; detail: string; advice: string }[];
  };
  return findings.find(({ part }) => part === "stakes");
}

const SHIPPED = "a person's look counts for 5, stakes are taken as units of account";
const ADVICE = "set `stakes.review_cost` in the tenant's policy: `trustrank policy set`";

it("says whether tenants have set what a person's look costs", async () => {
  await setPolicy("acme", { levels: { L3: { allow_up_to: 0.01 } } });
  const unset = `review cost not set: ${SHIPPED}`;
  expect(await findStakes()).toEqual({ part: "stakes", ok: true, detail: unset, advice: ADVICE });
  expect(await run("doctor")).toContain(`ok     stakes: ${unset}\n       ${ADVICE}\n`);

  await setPolicy("globex", { stakes: { review_cost: 40 } });
  expect(await findStakes()).toMatchObject({
    detail: `review cost set by globex (40); not set by acme: ${SHIPPED}`,
    advice: ADVICE,
  });

  await setPolicy("acme", { stakes: { review_cost: 8 } });
  expect(await findStakes()).toMatchObject({
    detail: "review cost set by acme (8), globex (40)",
    advice: "",
  });
});
