// Audit as somebody reads it who asks what was done, by whom and through what.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsoleStage, openConsole, type Visitor } from "../_console.ts";
import { needs } from "../../_needs.ts";

const HOSTILE = "<b onclick=alert(1)>\u202Egnp";

describe("Audit", needs("chromium"), () => {
  let stage: ConsoleStage;
  let visitor: Visitor;
  beforeAll(async () => {
    stage = await openConsole(["--no-sample"]);
    const key = { tenant: "acme", scopes: ["score:read"] };
    await stage.ask("POST", "/v1/keys", { ...key, label: "gateway" });
    await stage.ask("POST", "/v1/keys", { ...key, tenant: "globex", label: HOSTILE });
    await stage.ask("PUT", "/v1/policy?reason=first", {});
    await fetch(`${stage.url}/v1/policy`, { headers: { authorization: "Bearer tr_live_wrong" } });
    visitor = await stage.newVisitor();
    await visitor.logIn(stage.adminKey);
  });
  afterAll(() => stage?.close());

  const rows = () => visitor.page.getByRole("region", { name: "audit events" }).locator("tbody tr");

  it("shows what was done by the API and in the console", async () => {
    const { page } = visitor;
    await visitor.go("policy");
    await page.getByLabel("L2 allow up to").fill("0.12");
    await page.getByText("makes version").waitFor();
    const save = page.getByRole("button", { name: "Save…" });
    await expect.poll(() => save.isEnabled()).toBe(true);
    await save.click();
    await page.getByRole("dialog").getByLabel("to go on").fill("operator");
    await page.getByLabel("Reason, kept on record").fill("second");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const listEvents = async () => {
      const sql = "SELECT event FROM audit_events ORDER BY recorded_at DESC, position DESC";
      const { rows: known } = await stage.ask<{ rows: unknown[][] }>("POST", "/v1/query", { sql });
      return known.map(([event]) => event);
    };
    await expect.poll(async () => (await listEvents()).length).toBe(5);
    await visitor.go("audit");
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect.poll(() => rows().count()).toBe(5);
    const shown = await rows().locator("td:nth-child(2)").allTextContents();
    expect(shown.map((each) => each.trim())).toEqual(await listEvents());
    expect(await rows().first().textContent()).toContain("second");
  });

  it("filters by the way, the event and the tenant, and keeps the filter in the address", async () => {
    const { page } = visitor;
    await page.getByLabel("Through").selectOption("console");
    await expect.poll(() => rows().count()).toBe(1);
    expect(await rows().first().textContent()).toContain("policy.set");
    expect(page.url()).toContain("via=console");
    await page.getByRole("link", { name: "Clear" }).click();
    await expect.poll(() => rows().count()).toBe(5);
    await page.locator("#audit-event").fill("api_key.");
    // Rows that come meanwhile leave what is being typed.
    await page.getByRole("button", { name: "Refresh" }).dispatchEvent("click");
    await page.getByRole("button", { name: "Refresh" }).dispatchEvent("click");
    await page.locator("#audit-event").press("End");
    await page.locator("#audit-event").pressSequentially("created", { delay: 40 });
    await page.locator("#audit-event").press("Enter");
    await expect.poll(() => rows().count()).toBe(2);
    await page.getByRole("link", { name: "globex" }).click();
    await expect.poll(() => rows().count()).toBe(1);
    expect(await rows().first().textContent()).toContain(
      String.raw`<b onclick=alert(1)>\u{202e}gnp`,
    );
    await page.locator("#audit-text").fill("it's not there");
    await page.locator("#audit-text").press("Enter");
    await page.getByText("Nothing was done in this time that fits").waitFor();
  });

  it("opens one event with all that is known, and is sound", async () => {
    const { page } = visitor;
    await visitor.go("audit");
    await rows().first().getByRole("link").first().click();
    const detail = await page.getByRole("region", { name: "detail" }).textContent();
    expect(JSON.parse(detail!)).toMatchObject({ event: "policy.set", reason: "second" });
    await visitor.expectSound();
    await page.getByRole("link", { name: "Close" }).click();
    await visitor.expectSound("audit");
  });
});
