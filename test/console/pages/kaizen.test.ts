// Kaizen as a visitor sees it: over the sample history a run is refused; over a history that teaches
// something a dry run passes, is promoted by name and reason, and rolled back.
import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsoleStage, openConsole } from "../_console.ts";
import { needs } from "../../_needs.ts";

interface Status {
  readonly running?: object;
  readonly config_version: string;
  readonly promoted_by?: string;
  readonly runs: readonly { run_id: string; state: string }[];
}

/** A data directory with a history from which a run learns. */
async function history(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), "trustrank-console-kaizen-"));
  const program = fileURLToPath(new URL("../../kaizen/_learnable-history.ts", import.meta.url));
  await promisify(execFile)(process.execPath, [program, dataDir]);
  return dataDir;
}

describe("Kaizen", needs("chromium"), () => {
  let stage: ConsoleStage;
  const status = () => stage.ask<Status>("GET", "/v1/kaizen/runs");

  beforeAll(async () => {
    stage = await openConsole(["--no-sample", "--data-dir", await history()]);
  }, 60_000);
  afterAll(() => stage?.close());

  it("says what fills it while nothing has run", async () => {
    const { page } = await stage.visit("kaizen");
    await page.getByText("No runs yet").waitFor();
    expect(await page.getByRole("button", { name: "Roll back…" }).isDisabled()).toBe(true);
  });

  it("starts a dry run, shows its numbers, promotes it, and rolls it back", async () => {
    const { page, expectSound } = await stage.visit("kaizen");
    await page.getByRole("button", { name: "Run now…" }).click();
    await page.getByLabel("Sign off").check();
    await page.getByRole("button", { name: "Start the dry run" }).click();
    await page.getByRole("button", { name: "Promote…" }).waitFor({ timeout: 90_000 });
    const { runs } = await status();
    const id = runs[0]?.run_id ?? "none";
    expect(page.url()).toContain(`run=${id}`);
    const gates = page.getByRole("region", { name: "gates" });
    await expect.poll(() => gates.locator("tbody tr").count()).toBe(11);
    const run = await stage.ask<{
      numbers: { sides: { gates: { measures: { value: number }[] }[]; slices: object[] }[] };
    }>("GET", `/v1/kaizen/runs/${id}`);
    const [check] = run.numbers.sides;
    const rows = check?.gates[0]?.measures[0]?.value ?? Number.NaN;
    expect(await gates.locator("tbody tr").first().textContent()).toContain(
      rows.toLocaleString("en"),
    );
    const slices = page.getByRole("region", { name: "slices" });
    expect(await slices.locator("tbody tr").count()).toBe(check?.slices.length);
    await page.getByRole("img", { name: "Reliability diagram" }).waitFor();
    await expectSound("kaizen");

    await page.getByRole("button", { name: /^Two agents/ }).click();
    await expect.poll(() => page.url()).toContain("side=handshake");

    await page.getByRole("button", { name: "Promote…" }).click();
    const promote = page.getByRole("button", { name: "Promote", exact: true });
    expect(await promote.isDisabled()).toBe(true);
    await page.getByLabel(/^Type/).fill(id);
    expect(await promote.isDisabled()).toBe(true);
    await page.getByLabel(/^Reason/).fill("looked at together");
    await promote.click();
    await page.getByText("learnt", { exact: true }).waitFor();
    expect((await status()).promoted_by).toBe(id);

    await page.getByRole("button", { name: "Roll back…" }).click();
    await page.getByLabel(/^Type/).fill(id);
    await page.getByLabel(/^Reason/).fill("worse in Asia");
    await page.getByRole("button", { name: "Roll back", exact: true }).click();
    await page.getByText("as shipped", { exact: true }).waitFor();
    expect(await status()).not.toHaveProperty("promoted_by");
    await page.getByText("rolled back").first().waitFor();
    const sql = `SELECT event, via LIKE 'console:%' FROM audit_events
WHERE event LIKE 'kaizen.%' ORDER BY position`;
    const changes = async () =>
      (await stage.ask<{ rows: unknown[][] }>("POST", "/v1/query", { sql })).rows;
    await expect.poll(changes).toEqual([
      ["kaizen.promoted", true],
      ["kaizen.rolled_back", true],
    ]);
  }, 180_000);

  it("shows why the service refuses a promotion", async () => {
    // On a busy machine the run of the promotion may not have ended yet.
    await expect.poll(async () => (await status()).running ?? null).toBeNull();
    const { runs } = await status();
    // The pause after the rollback holds whatever a dry run has found.
    const { run_id: id } = await stage.ask<{ run_id: string }>("POST", "/v1/kaizen/run", {
      dry_run: true,
    });
    expect(runs.map(({ run_id }) => run_id)).not.toContain(id);
    const { page } = await stage.visit(`kaizen?run=${id}`);
    await page
      .getByText(/^Not promoted:|no settled outcomes/)
      .first()
      .waitFor();
    expect(await page.getByRole("button", { name: "Promote…" }).count()).toBe(0);
  }, 60_000);
});
