// Exit codes and messages of the command line on failure: a port that is taken, a disk that fails,
// evidence that is damaged. Real processes, real files.
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe, expect, it } from "vitest";

import { endAll, runCommand, startCommand } from "../cli/_process.ts";
import { needs } from "../_needs.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-failures-"));

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

describe("a start that fails", () => {
  it("says that the port is taken, and makes no key that nobody sees", async () => {
    const other = ["--data-dir", join(folder, "late")];
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const { port } = holder.address() as AddressInfo;
    const failed = await runCommand(["serve", "--port", String(port), ...other]);
    expect(failed.code).toBe(1);
    const said = failed.stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(said).toMatchObject([
      { level: "info", message: "service_starting" },
      { level: "error", message: "service_failed", exit_code: 1 },
    ]);
    expect(said[1].detail).toMatch(/^cannot listen on [^\n]+$/);
    holder.close();
    const started = startCommand(["serve", "--port", "0", "--no-sample", "--json", ...other]);
    const facts = JSON.parse(await started.firstLine);
    expect(facts).toMatchObject({
      admin_key: expect.stringMatching(/^tr_live_/),
      replayed: expect.any(Number),
    });
    started.process.kill("SIGTERM");
    expect((await started.ended).code).toBe(0);
  });
});

describe("a file that cannot be used", () => {
  it.each([
    ["bureau.key", "-----BEGIN PRIVATE KEY-----\n", "put it back from a backup"],
    ["kaizen/state.json", '{"champion": ', "or move it away to go on with the shipped weights"],
    ["kaizen/state.json", '{"champion": 7}', "put it back from a backup"],
  ])("stops the start with its name and what to do: %s", async (name, content, advice) => {
    const root = mkdtempSync(join(folder, "unusable-"));
    const path = join(root, name);
    mkdirSync(join(root, "kaizen"));
    writeFileSync(path, content);
    const failed = await runCommand(["serve", "--port", "0", "--no-sample", "--data-dir", root]);
    expect(failed.code).toBe(65);
    const last = failed.stderr.trim().split("\n").at(-1);
    const { message, exit_code: exitCode, detail } = JSON.parse(last!);
    expect([message, exitCode]).toEqual(["service_failed", 65]);
    expect(detail).toMatch(/^`[^\n]+` cannot be used, it holds no [^\n]+: /);
    expect(detail).toContain(path);
    expect(detail).toContain(advice);
    // As it was: nothing is made anew over what may be the only copy.
    expect(readFileSync(path, "utf8")).toBe(content);
  });
});

describe("a disk that fails", () => {
  const TRACED = needs("strace", "trace processes");

  it("refuses what was not synced, then ends with exit code 70", TRACED, async () => {
    const toDir = ["--data-dir", join(folder, "failing")];
    const rows = join(folder, "few.csv");
    writeFileSync(rows, "1,2,5,100\n");
    await runCommand(["import", rows, "--format", "snap-ratings", ...toDir]);
    const journal = join(folder, "failing", "journal");
    const segment = join(
      journal,
      readdirSync(journal).find((name) => name.endsWith(".log"))!,
    );
    const key = "k".repeat(40);
    const fault = ["-P", segment, "-e", "inject=fdatasync:error=EIO:when=1+"];
    const started = startCommand(
      ["serve", "--port", "0", "--json", ...toDir],
      { TRUSTRANK_ADMIN_KEY: key },
      ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", ...fault],
    );
    const { url } = JSON.parse(await started.firstLine);
    const response = await fetch(`${url}/v1/outcomes`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        subject: "agent://a/x",
        reporter: "agent://b/y",
        outcome: 1,
        stakes: 5,
        grade: "counterparty",
      }),
    });
    expect(response.status).toBe(503);
    expect(await started.ended).toMatchObject({ code: 70, signal: null });
    const sql = "SELECT count(*) AS n FROM outcomes";
    const counted = await runCommand(["query", sql, "--format", "json", ...toDir]);
    // The refused outcome may or may not have reached the disk; the acknowledged one is there.
    expect(JSON.parse(counted.stdout)[0].n).toBeGreaterThanOrEqual(1);
  });
});

describe("damaged evidence", () => {
  const damagedDir = join(folder, "damaged");

  it("stops the start and the doctor with exit code 65, and names the way out", async () => {
    const toDir = ["--data-dir", damagedDir];
    const rows = join(folder, "many.csv");
    const lines = Array.from({ length: 3000 }, (_, i) => `${i % 50},${100 + (i % 90)},5,${i}\n`);
    writeFileSync(rows, lines.join(""));
    const imported = await runCommand(["import", rows, "--format", "snap-ratings", ...toDir]);
    expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining("3000 outcomes") });

    const journal = join(damagedDir, "journal");
    const segment = join(
      journal,
      readdirSync(journal).find((name) => name.endsWith(".log"))!,
    );
    const bytes = readFileSync(segment);
    bytes[Math.floor(bytes.length / 3)]! ^= 0xff;
    writeFileSync(segment, bytes);

    const served = await runCommand(["serve", "--port", "0", ...toDir]);
    expect(served.code).toBe(65);
    expect(served.stderr).toContain("trustrank doctor --repair");
    const checked = await runCommand(["doctor", ...toDir]);
    expect(checked.code).toBe(65);
    expect(checked.stdout).toMatch(/WRONG {2}journal: .*byte \d+/);

    const repaired = await runCommand(["doctor", "--repair", "--json", ...toDir]);
    expect(repaired.code).toBe(0);
    const report = JSON.parse(repaired.stdout);
    expect(report).toMatchObject({ ok: true, repaired: 1, quarantined: [expect.anything()] });
    const lostCount = report.lost.reduce(
      (sum: number, [first, last]: [number, number]) => sum + last - first + 1,
      0,
    );
    expect(lostCount).toBeGreaterThan(0);
    expect(lostCount).toBeLessThan(1000);
    const sql = "SELECT count(*) AS n FROM outcomes";
    const counted = await runCommand(["query", sql, "--format", "json", ...toDir]);
    expect(JSON.parse(counted.stdout)).toEqual([{ n: 3000 - lostCount }]);
    const again = await runCommand([
      "import",
      rows,
      "--format",
      "snap-ratings",
      "--json",
      ...toDir,
    ]);
    expect(JSON.parse(again.stdout)).toMatchObject({
      accepted: lostCount,
      duplicates: 3000 - lostCount,
    });
  });
});
