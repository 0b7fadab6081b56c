// The frame around the pages, in a real browser: logging in and out, the link that works once, keys,
// themes, and names that are meant to do harm.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsoleStage, openConsole } from "./_console.ts";
import { needs } from "../_needs.ts";

const HOSTILE = [
  "x/<img src=x onerror=alert(1)>",
  "x/\u202Eevil\u202C",
  "x/zero\u200Bwidth",
  "x/javascript:alert(1)",
  "x/{{7*7}}${7*7}",
];

describe("the console", needs("chromium"), () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await openConsole();
  });
  afterAll(() => stage?.close());

  it("asks for a key, says when it is wrong, and is sound before anyone is in", async () => {
    const visitor = await stage.newVisitor();
    const { page } = visitor;
    await page.goto(`${stage.url}/console`);
    await page.getByLabel("API key").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").filter({ hasText: "did not work" }).waitFor();
    await visitor.expectSound("login");
    await visitor.logIn(stage.adminKey);
    expect(await page.getByRole("heading", { level: 1 }).first().textContent()).toBe("Overview");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("API key").waitFor();
    await page.reload();
    await page.getByLabel("API key").waitFor();
  });

  it("is opened by the link that the start prints, once", async () => {
    const link = stage.consoleLink;
    const first = await stage.newVisitor();
    await first.page.goto(link);
    await first.page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(first.page.url()).not.toContain("login");
    await first.page.reload();
    await first.page.getByRole("navigation", { name: "Pages" }).waitFor();
    const second = await stage.newVisitor();
    await second.page.goto(link);
    await second.page.getByText("This link has been used").waitFor();
    expect([...first.complaints, ...second.complaints]).toEqual([]);
  });

  it("goes to pages by keys, shows them all, and not while something is typed", async () => {
    const { page, complaints } = await stage.visit("nowhere");
    await page.getByRole("heading", { name: "Not found" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Overview").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("keeps the theme that was chosen", async () => {
    const { page } = await stage.visit("");
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await back();
    await page.getByLabel("Theme").selectOption("dark");
    await expect.poll(back).not.toBe(light);
    await page.reload();
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    expect(await back()).not.toBe(light);
  });

  it("shows names that are meant to do harm as text, unseen characters as escapes", async () => {
    for (const agent of HOSTILE) {
      const asked = { agent_id: agent, action: "order.place", tool_level: "L3", context: {} };
      await stage.ask("POST", "/v1/trust/verify", asked);
    }
    const visitor = await stage.visit("");
    const { page } = visitor;
    await page.getByText("x/<img src=x onerror=alert(1)>").first().waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    const shown = await page.locator("main").innerText();
    expect(shown).not.toMatch(/[\u200B\u202E\u202C]/);
    await visitor.expectSound();
  });
});
