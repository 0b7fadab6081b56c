// `trustrank policy backtest` as operators use it: on the files and through the server that holds
// them, the sample history judged to the same figures, and files that are no policy.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { Backtest } from "../../../src/contract/schemas/backtest.ts";
import { endAll, runCommand, startCommand } from "../_process.ts";

const KEY = "backtest-suite-admin-key-0123456789abcdefghij";
const folder = mkdtempSync(join(tmpdir(), "trustrank-backtest-"));
const dataDir = join(folder, "data");
const AT = ["--data-dir", dataDir];
const page = join(folder, "page.html");

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

function fileOf(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

async function backtest(...parameters: string[]) {
  const ended = await runCommand(["policy", "backtest", ...parameters, ...AT], {
    TRUSTRANK_KEY: KEY,
  });
  return ended;
}

const figuresOf = ({
  backtest_id: _id,
  started_at: _at,
  started_by: _by,
  duration_ms: _ms,
  ...rest
}: Backtest) => rest;

it("gives the same figures through the server and on the files, as a table and as a page", async () => {
  const loose = fileOf("loose.json", {
    levels: { L2: { allow_up_to: 0.2, counts_stakes: false } },
  });
  const server = startCommand(["serve", "--port", "0", ...AT, "--json"], {
    TRUSTRANK_ADMIN_KEY: KEY,
    TRUSTRANK_KAIZEN: "off",
  });
  const { sample } = JSON.parse(await server.firstLine) as { sample: number };
  const served = await backtest(loose, "--json");
  expect(served.code, served.stderr).toBe(0);
  server.process.kill("SIGTERM");
  await server.ended;

  const filed = await backtest(loose, "--json", "--page", page);
  expect(filed.code, filed.stderr).toBe(0);
  const [there, here] = [served.stdout, filed.stdout].map((text) => JSON.parse(text) as Backtest);
  // The first one is on record by then.
  const position = there!.position + 1;
  expect(figuresOf(here!)).toEqual({ ...figuresOf(there!), position });
  expect(here!.outcomes).toBe(sample);
  expect(readFileSync(page, "utf8")).toContain("<!doctype html>");
  expect(existsSync(join(dataDir, "backtests", `${here!.backtest_id}.json`))).toBe(true);

  const table = await backtest(loose, "--days", "30");
  expect(table.code, table.stderr).toBe(0);
  expect(table.stdout).toMatch(/^L2 +verify, no stakes named +live +[\d.]+ % /m);
  expect(table.stdout).toMatch(/^L2 +verify, no stakes named +given +[\d.]+ % /m);
  expect(table.stdout).toMatch(
    /^asked as +decided by +lost, units of account +friction, units of account +review, .* +cost, units of account +cost, % of volume/m,
  );
  for (const plan of ["live policy", "given policy", "verify every deal", "connect every deal"]) {
    expect(table.stdout).toMatch(new RegExp(`^verify at L2 +${plan} +[\\d,.]+ `, "m"));
  }
  expect(table.stdout + table.stderr).toMatch(/a person's look at one deal costs 5 [a-z ]*and/);
});

it("names what is wrong, and makes nothing", async () => {
  const wrong = fileOf("wrong.json", { levels: { L3: { allow_up_to: 2, thinn: "flag" } } });
  const refused = await backtest(wrong);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("/levels/L3/thinn");
  const when = await backtest("--from", "2026-02-01", "--to", "2026-01-01");
  expect([when.code, when.stderr]).toEqual([1, "trustrank: --to must be after --from\n"]);
  const unread = await backtest("--from", "soon");
  expect(unread.code).toBe(2);
  expect(unread.stderr).toContain("expected a date");
});
