// `trustrank policy` as operators use it: on the files, then through the server that holds them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { PolicyDocument } from "../../../src/contract/schemas/policy.ts";
import { endAll, runCommand, startCommand } from "../_process.ts";

const KEY = "policy-suite-admin-key-0123456789abcdefghijk";
const folder = mkdtempSync(join(tmpdir(), "trustrank-policy-"));
const AT = ["--data-dir", join(folder, "data"), "--tenant", "acme", "--json"];

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

function fileOf(name: string, document: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

async function policy(...parameters: string[]): Promise<PolicyDocument> {
  const { code, stdout, stderr } = await runCommand(["policy", ...parameters, ...AT], {
    TRUSTRANK_KEY: KEY,
  });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as PolicyDocument;
}

it("shows and sets on the files, and through the server that holds them", async () => {
  const strict = fileOf("strict.json", { levels: { L3: { allow_up_to: 0.01 } } });
  const shipped = await policy("show");
  expect(shipped).toMatchObject({ tenant: "acme", set_by: null });
  const set = await policy("set", strict);
  expect(set).toMatchObject({
    set_by: "operator",
    policy: { levels: { L3: { allow_up_to: 0.01 } } },
  });

  const server = startCommand(
    ["serve", "--port", "0", "--no-sample", ...AT.slice(0, 2), "--json"],
    {
      TRUSTRANK_ADMIN_KEY: KEY,
    },
  );
  await server.firstLine;
  expect(await policy("show")).toEqual(set);
  const back = await policy("set", fileOf("shipped.json", {}));
  expect(back.version).toBe(shipped.version);
  expect(back.set_at).not.toBeNull();
  server.process.kill("SIGTERM");
  await server.ended;
  expect(await policy("show")).toEqual(back);
});

it("prints the amounts in force, and says where the review cost is not set", async () => {
  const show = () => runCommand(["policy", "show", ...AT.slice(0, 4)]);
  await policy("set", fileOf("unset.json", {}));
  const unset = await show();
  expect(unset.stdout + unset.stderr).toContain(
    "stakes.review_cost is not set: a person's look counts for 5, stakes are taken as units of account",
  );
  expect(unset.stdout).toMatch(/^review_cost +5 +5 +5$/m);
  expect(unset.stdout).toMatch(/^assumed +7 +7 +12$/m);
  expect(unset.stdout).toMatch(/^tolerated_loss_bps +250 +250 +125$/m);
  await policy("set", fileOf("set.json", { stakes: { review_cost: 0.5, unit: 100 } }));
  const set = await show();
  const told = set.stdout + set.stderr;
  expect(told).not.toContain("is not set");
  expect(told).toContain("amounts in the tenant's unit, worth 100 units of account each");
  expect(set.stdout).toMatch(/^risk_tolerance +500 +500 +500$/m);
});

it("names every member of a file that is wrong, and changes nothing", async () => {
  const before = await policy("show");
  const wrong = fileOf("wrong.json", { levels: { L3: { allow_up_to: 2, thinn: "flag" } } });
  const { code, stderr } = await runCommand(["policy", "set", wrong, ...AT]);
  expect(code).toBe(1);
  expect(stderr).toContain("/levels/L3/thinn");
  expect(stderr).toContain("/levels/L3/allow_up_to");
  expect(await policy("show")).toEqual(before);
});

it("vouches and takes the word back on the files, and leaves the rest of the policy", async () => {
  await policy("set", fileOf("flag.json", { levels: { L1: { flag_above: 0.2 } } }));
  const before = await policy("show");
  const given = await policy("vouch", "agent://mine/*", "--until", "2199-01-31");
  const word = {
    namespace: "agent://mine/*",
    until: "2199-01-31T00:00:00.000Z",
    up_to: "L2",
    max_stakes: 0,
  };
  expect(given.policy).toEqual({ ...before.policy, vouched: [word] });
  const both = ["vouch", "agent://mine/eu/*", "--until", "2199-01-31T12:00:00+01:00"];
  await policy(...both, "--up-to", "L3", "--max-stakes", "12.5");
  const again = await policy("vouch", "agent://mine/*", "--until", "2198-01-31");
  expect(again.policy.vouched).toEqual([
    { ...word, until: "2198-01-31T00:00:00.000Z" },
    {
      namespace: "agent://mine/eu/*",
      until: "2199-01-31T11:00:00.000Z",
      up_to: "L3",
      max_stakes: 12.5,
    },
  ]);
  const table = await runCommand(["policy", "show", ...AT.slice(0, 4)]);
  expect(table.stdout).toMatch(/agent:\/\/mine\/eu\/\* +L3 +12.5 +2199-01-31T11:00:00.000Z/);
  await policy("unvouch", "agent://mine/eu/*");
  expect((await policy("unvouch", "agent://mine/*")).version).toBe(before.version);
  for (const [parameters, said] of [
    [["unvouch", "agent://mine/*"], "does not vouch for agent://mine/*"],
    [["vouch", "agent://mine", "--until", "2199-01-31"], "/vouched/0/namespace"],
    [["vouch", "agent://mine/*", "--until", "2020-01-31"], "/vouched/0/until: has passed"],
    [
      ["vouch", "agent://mine/*", "--until", "2199-01-31", "--max-stakes", "much"],
      "/vouched/0/max_stakes",
    ],
  ] as const) {
    const { code, stderr } = await runCommand(["policy", ...parameters, ...AT]);
    expect(code).toBe(1);
    expect(stderr).toContain(said);
  }
});
