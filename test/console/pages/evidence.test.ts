// Evidence as a visitor sees it: a proof is checked in his browser, and one that was tampered with is
// called false whatever the service says.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsoleStage, openConsole } from "../_console.ts";
import { needs } from "../../_needs.ts";

const COUNT = 13;

interface Proved {
  readonly merkle: { root: string; path: string[]; leaf_text: string };
  readonly state: string;
}

describe("Evidence", needs("chromium"), () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await openConsole();
    const items = Array.from({ length: COUNT }, (_, at) => ({
      source_id: at % 2 === 0 ? `invoice-${2000 + at}` : `https://tides.example/${at}`,
      text: `The total of invoice ${at} is ${at * 120} EUR.`,
      title: at % 2 === 0 ? `Invoice ${2000 + at}` : `Tide table, größer \u202e${at}`,
    }));
    await stage.ask("POST", "/v1/evidence", { items });
  }, 60_000);
  afterAll(() => stage?.close());

  it("finds a source and proves it, with the root that the service signs", async () => {
    const { page, expectSound } = await stage.visit("evidence");
    const rows = page.getByRole("region", { name: "sources" }).locator("tbody tr");
    // The sample has sources of its own.
    await expect.poll(() => rows.count()).toBeGreaterThan(COUNT);
    await page.getByLabel("Search").fill("TIDE TABLE");
    await expect.poll(() => rows.count()).toBe(Math.floor(COUNT / 2));
    expect(await rows.first().textContent()).toContain("\\u{202e}");
    await rows.first().click();
    await page.getByText("Proved.", { exact: true }).waitFor();
    const { merkle } = await stage.ask<Proved>(
      "GET",
      `/v1/evidence/${encodeURIComponent("https://tides.example/11")}`,
    );
    await page.getByText(merkle.root, { exact: true }).waitFor();
    const steps = page.getByRole("region", { name: "steps of the proof" });
    expect(await steps.locator("tbody tr").count()).toBe(merkle.path.length + 1);
    expect(await page.getByText("not equal").count()).toBe(0);
    expect(await page.getByText("equal", { exact: true }).count()).toBe(4);
    await expectSound("evidence");
  }, 90_000);

  it("proves every record of the tree", async () => {
    const visitor = await stage.visit("evidence");
    const { page } = visitor;
    for (let at = 0; at < COUNT; at += 2) {
      await visitor.go(`evidence?id=invoice-${2000 + at}`);
      await page.getByText("Proved.", { exact: true }).waitFor();
      await page.getByRole("heading", { name: `Source invoice-${2000 + at}` }).waitFor();
      expect(await page.getByText("not equal").count()).toBe(0);
    }
  }, 60_000);

  const forgeries: [string, (proved: Proved) => unknown][] = [
    ["another neighbour", ({ merkle }) => (merkle.path[1] = `sha256:${"a".repeat(64)}`)],
    ["a neighbour too few", ({ merkle }) => merkle.path.pop()],
    ["another text", ({ merkle }) => (merkle.leaf_text = merkle.leaf_text.replace("2004", "2005"))],
    ["another root", ({ merkle }) => (merkle.root = `sha256:${"0".repeat(64)}`)],
    [
      "a record that says something else",
      (proved) => Object.assign(proved, { state: "retracted" }),
    ],
  ];

  it.each(forgeries)("calls a proof with %s false", async (_, forge) => {
    const proved = await stage.ask<Proved>("GET", "/v1/evidence/invoice-2004");
    forge(proved);
    const visitor = await stage.visit("");
    await visitor.page.route("**/v1/evidence/invoice-2004*", (route) =>
      route.fulfill({ json: proved }),
    );
    await visitor.go("evidence?id=invoice-2004");
    await visitor.page.getByText("Not proved.", { exact: true }).waitFor();
    expect(await visitor.page.getByText("not equal", { exact: true }).count()).toBeGreaterThan(0);
  });

  it("withdraws a source by its name", async () => {
    const { page } = await stage.visit("evidence?id=invoice-2002");
    await page.getByRole("button", { name: "Withdraw…" }).click();
    const button = page.getByRole("button", { name: "Withdraw", exact: true });
    expect(await button.isDisabled()).toBe(true);
    await page.getByLabel(/^Type/).fill("invoice-2002");
    await button.click();
    await page.getByText("Proved.", { exact: true }).waitFor();
    await expect
      .poll(async () => (await stage.ask<Proved>("GET", "/v1/evidence/invoice-2002")).state)
      .toBe("revoked");
    await page.locator(".tag", { hasText: "revoked" }).first().waitFor();
    const sql = `SELECT detail->>'$.source_id', actor IS NOT NULL, via LIKE 'console:%'
FROM audit_events WHERE event = 'evidence.revoked'`;
    const withdrawals = async () =>
      (await stage.ask<{ rows: unknown[][] }>("POST", "/v1/query", { sql })).rows;
    await expect.poll(withdrawals).toEqual([["invoice-2002", true, true]]);
  });
});
