// Policy as an operator changes it: checked while it is written, tried on history, saved with a reason,
// and taken up again.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Backtest } from "../../../src/contract/schemas/backtest.ts";
import type { PolicyDocument } from "../../../src/contract/schemas/policy.ts";
import { type ConsoleStage, openConsole, type Visitor } from "../_console.ts";
import { needs } from "../../_needs.ts";

const PATH = "/v1/policy";

function formatAmountOf(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 1000 ? 2 : 0 });
}

describe("Policy", needs("chromium"), () => {
  let stage: ConsoleStage;
  let visitor: Visitor;
  let shipped: PolicyDocument;
  beforeAll(async () => {
    stage = await openConsole(["--unit-of-account", "EUR"]);
    visitor = await stage.newVisitor();
    await visitor.logIn(stage.adminKey);
    shipped = await stage.ask<PolicyDocument>("GET", PATH);
  });
  afterAll(() => stage?.close());

  const bound = () => visitor.page.getByLabel("L2 allow up to");
  const save = () => visitor.page.getByRole("button", { name: "Save…" });

  it("says at its pointer what is wrong with a draft, and does not save it", async () => {
    const { page } = visitor;
    await visitor.go("policy");
    await page.getByText("makes version").waitFor();
    await bound().fill("2");
    const wrong = page.getByRole("button", { name: "/levels/L2/allow_up_to, line" });
    await wrong.waitFor();
    expect(await bound().getAttribute("aria-invalid")).toBe("true");
    expect(await save().isDisabled()).toBe(true);
    await wrong.click();
    const text = page.getByLabel("Policy as JSON");
    const chosen = await text.evaluate((area: HTMLTextAreaElement) =>
      area.value.slice(area.selectionStart, area.selectionEnd),
    );
    expect(chosen).toBe('"allow_up_to": 2,');
    await text.fill("{ not json");
    await page.getByRole("button", { name: "the text" }).waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByText("No changes yet").waitFor();
  });

  it("shows the amounts in force, and what the draft would make of them", async () => {
    const { page } = visitor;
    const amounts = page.getByRole("region", { name: "amounts in force" });
    await page.getByText("is not set: the shipped 5 EUR holds").waitFor();
    await page.getByText("Amounts are in EUR.").waitFor();
    await page.getByText("unit of account: EUR").waitFor();
    const row = amounts.getByRole("row", { name: "stakes assumed" });
    expect(await row.getByRole("cell").allTextContents()).toEqual([
      "stakes assumed where none are named, and at least",
      "7 EUR",
      "7 EUR",
      "12 EUR",
    ]);
    await page.getByLabel("A person's look costs").fill("20");
    await amounts.getByText("draft: 28 EUR").first().waitFor();
    expect(await row.getByRole("cell").last().textContent()).toBe("12 EUR draft: 48 EUR");
    await page.getByLabel("Tolerated loss").fill("20000");
    await page.getByRole("button", { name: "/stakes/tolerated_loss_bps, line" }).waitFor();
    expect(await page.getByLabel("Tolerated loss").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Tolerated loss").fill("");
    await page.getByText("makes version").waitFor();
    const text = page.getByLabel("Policy as JSON");
    expect(JSON.parse(await text.inputValue())).toMatchObject({ stakes: { review_cost: 20 } });
    await page.getByLabel("A person's look costs").fill("");
    await page.getByText("No changes yet").waitFor();
    expect(await text.inputValue()).not.toContain('stakes": {');
  });

  it("judges logged verdicts by the draft, and says whom it would hold back", async () => {
    const { page } = visitor;
    const card = page.locator("section", { hasText: "On real verdicts" }).last();
    await card.getByRole("button", { name: "Compare" }).click();
    await card.getByText(/^None of [\d,]+ verdicts would change/).waitFor();
    await page.getByLabel("L3 allow up to").fill("0");
    await bound().fill("0");
    await page.getByText("makes version").waitFor();
    await card.getByRole("button", { name: "Compare" }).click();
    await card.getByText(/of [\d,]+ verdicts would change/).waitFor();
    const changes = card.getByRole("region", { name: "verdicts that would change" });
    expect(await changes.getByRole("row").nth(1).textContent()).toMatch(/^L2 ALLOW .*L2 CHALLENGE/);
    const agents = card.getByRole("region", { name: "agents most affected" });
    expect(await agents.getByRole("link").count()).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByText("No changes yet").waitFor();
  });

  it("tries a draft on history, and shows what the service found", async () => {
    const { page } = visitor;
    await bound().fill("0.3");
    // Else the decision at stakes holds those back that the bound lets through.
    await page.getByLabel("L2 stakes").uncheck();
    await page.getByText("makes version").waitFor();
    await page.getByLabel("count keys that nobody vouches for").check();
    await page.getByRole("button", { name: "Back-test the draft" }).click();
    await page.getByText("This is the draft.").waitFor();
    const id = new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("backtest");
    const { findings } = await stage.ask<Backtest>("GET", `/v1/policy/backtests/${id}`);
    const change = findings!.changes.find(
      ({ question, level }) => question === "verify" && level === "L2",
    )!;
    expect(change.bad_newly_allowed).toBeGreaterThan(0);
    const shown = await page
      .locator(".figure", { hasText: "bad, newly let through" })
      .textContent();
    expect(shown).toContain(`${change.bad_newly_allowed}`);
    expect(shown).toContain(Math.round(change.stakes_newly_lost).toLocaleString("en"));
    const costs = page.getByRole("region", { name: "cost by your own numbers" });
    const { money, money_curves: curves } = findings!;
    expect(money[0]?.deals).toBeGreaterThan(0);
    expect(await costs.getByRole("row").count()).toBe(1 + money.length);
    const drafted = money.find(({ asked, plan }) => asked === "L2" && plan === "given")!;
    const cells = costs.getByRole("row", { name: "verify at L2 draft" }).getByRole("cell");
    expect(await cells.nth(5).textContent()).toBe(formatAmountOf(drafted.cost));
    expect(await page.locator("figure svg.plot").count()).toBe(2 * curves.length);
    await page.getByText("good deals connected at 2.5 %:").waitFor();
  });

  it("moves the bound on the curve by keys and by the pointer", async () => {
    const { page } = visitor;
    const handle = page.getByRole("slider", { name: "Risk bound" });
    expect(await handle.getAttribute("aria-valuenow")).toBe("0.3");
    await handle.focus();
    await page.keyboard.press("ArrowLeft");
    const left = Number(await bound().inputValue());
    expect(left).toBeLessThan(0.3);
    expect(await handle.getAttribute("aria-valuetext")).toContain("are let through");
    await page.getByText("The draft has changed since").waitFor();
    const box = (await page.locator(".curve svg").boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 40, { steps: 5 });
    await page.mouse.up();
    expect(Number(await bound().inputValue())).toBeLessThan(left);
    await bound().fill("0.3");
    await page.getByText("This is the draft.").waitFor();
  });

  it("is sound", async () => {
    await visitor.page.getByText("All rules as JSON").click();
    await visitor.page.evaluate(() => scrollTo(0, 0));
    expect(await visitor.page.locator(".curve svg").count()).toBe(1);
    await visitor.expectSound("policy");
  });

  it("saves with a reason, keeps it on record, and takes the earlier one up again", async () => {
    const { page } = visitor;
    const change = async (reason: string) => {
      await save().click();
      const dialog = page.getByRole("dialog");
      const doIt = dialog.getByRole("button", { name: "Save" });
      expect(await doIt.isDisabled()).toBe(true);
      await dialog.getByLabel(`Type ${shipped.tenant} to go on`).fill(shipped.tenant);
      await dialog.getByLabel("Reason, kept on record").fill(reason);
      await doIt.click();
      await dialog.waitFor({ state: "detached" });
    };
    await change("fewer good ones turned away");
    const set = await stage.ask<PolicyDocument>("GET", PATH);
    expect(set.policy.levels.L2.allow_up_to).toBe(0.3);
    const versions = page.getByRole("region", { name: "versions" });
    await versions.getByText("fewer good ones turned away").waitFor();
    await bound().fill("0.2");
    await page.getByText("makes version").waitFor();
    await expect.poll(() => save().isEnabled()).toBe(true);
    await change("stricter again");
    await versions.getByText("stricter again").waitFor();
    await versions.getByRole("button", { name: `Take up ${set.version} again` }).click();
    expect(await bound().inputValue()).toBe("0.3");
    const { rows } = await stage.ask<{ rows: unknown[][] }>("POST", "/v1/query", {
      sql: "SELECT actor IS NOT NULL, via LIKE 'console:%' FROM audit_events WHERE event = 'policy.set'",
    });
    expect(rows).toEqual([
      [true, true],
      [true, true],
    ]);
  });
});
