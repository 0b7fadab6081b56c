// The API page `/docs` as a visitor sees it, who has no key.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsoleStage, openConsole } from "../_console.ts";
import { needs } from "../../_needs.ts";

describe("the API page", needs("chromium"), () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await openConsole();
  });
  afterAll(() => stage?.close());

  it("is sound, filters by a form without a script, and keeps the filter", async () => {
    const visitor = await stage.newVisitor();
    const { page } = visitor;
    await page.goto(`${stage.url}/docs`);
    await visitor.expectSound("api");
    await page.getByLabel("Filter operations").fill("post review");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("operations have “post review”").waitFor();
    expect(page.url()).toBe(`${stage.url}/docs?filter=post+review`);
    expect(await page.getByLabel("Filter operations").inputValue()).toBe("post review");
    await page.getByRole("link", { name: "/decision" }).first().click();
    await expect.poll(() => page.url()).toContain("#op-");
    await visitor.expectSound("api-filtered");
  });

  it("has every operation in the list to jump", async () => {
    const { page } = await stage.newVisitor();
    await page.goto(`${stage.url}/docs`);
    const links = page.getByRole("navigation", { name: "Contents" }).getByRole("listitem");
    expect(await links.count()).toBe(await page.locator("article[id^=op-]").count());
  });
});
