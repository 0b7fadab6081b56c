// Agents and one agent as a visitor sees them: what the pages say is what the API says.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentList } from "../../../src/contract/schemas/agents.ts";
import type { AgentExplanation } from "../../../src/contract/schemas/scores.ts";
import { type ConsoleStage, openConsole, type Visitor } from "../_console.ts";
import { needs } from "../../_needs.ts";

const HOSTILE = 'x<img src=1 onerror="alert(1)">\u202e \u200bagent';

describe("Agents", needs("chromium"), () => {
  let stage: ConsoleStage;
  let visitor: Visitor;
  let list: AgentList;
  beforeAll(async () => {
    stage = await openConsole();
    visitor = await stage.newVisitor();
    await visitor.logIn(stage.adminKey);
    list = await stage.ask<AgentList>("GET", "/v1/agents?order=-outcomes&limit=50");
  });
  afterAll(() => stage?.close());

  it("are listed, found by name, chosen by tier, in the address", async () => {
    const { page } = visitor;
    await visitor.go("agents?order=-outcomes");
    expect(list.agents.length).toBeGreaterThan(3);
    const names = page.locator("tbody .agent");
    await expect.poll(() => names.count()).toBe(list.agents.length);
    expect(
      await names.evaluateAll((links) => links.map((link) => link.getAttribute("title"))),
    ).toEqual(list.agents.map(({ agent_id: id }) => id));
    await visitor.expectSound("agents");
    const part = list.agents.at(2)!.agent_id.slice(-6);
    await page.getByLabel("Name has").fill(part);
    await expect.poll(() => page.url()).toContain(`q=${encodeURIComponent(part)}`);
    const found = list.agents.filter(({ agent_id: id }) => id.includes(part));
    await expect.poll(() => names.count()).toBe(found.length);
    await page.getByLabel("Name has").fill("no such agent");
    await page.getByText("No agent is called so").waitFor();
    await visitor.go("agents?tier=REVIEW");
    const { total } = await stage.ask<AgentList>("GET", "/v1/agents?tier=REVIEW&limit=1");
    await page.getByRole("heading", { name: new RegExp(`^${total} agents?$`) }).waitFor();
  });

  it("each has a page: score, points, days, records, and an answer now", async () => {
    const { page } = visitor;
    const { agent_id: id } = list.agents.at(0)!;
    await visitor.go(`agent?id=${encodeURIComponent(id)}`);
    const path = `/v1/agents/${encodeURIComponent(id)}`;
    const agent = await stage.ask<AgentExplanation>("GET", path);
    const figure = page.locator(".figure", { hasText: "Score, 300 to 850" }).locator(".big");
    expect(await figure.textContent()).toBe(String(agent.internal_score));
    await page.getByRole("img", { name: /^Outcomes by day/ }).waitFor();
    await page.getByRole("region", { name: "last outcomes" }).waitFor();
    await page.getByLabel("Stakes", { exact: true }).fill("25000");
    await page.getByLabel("Tool level").selectOption("L3");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByText("Rule that decided").waitFor();
    expect(page.url()).toContain("stakes=25000");
    await page.evaluate(() => scrollTo(0, 0));
    await visitor.expectSound("agent");
    await page.getByRole("button", { name: "Read again" }).click();
  });

  it("are strangers without a record, whatever they are called", async () => {
    const { page } = visitor;
    await visitor.go(`agent?id=${encodeURIComponent(HOSTILE.replaceAll(/[\u202e\u200b]/g, ""))}`);
    await page.getByText("No outcome about this agent is on record").waitFor();
    expect(await page.locator("main img[src='1']").count()).toBe(0);
    await visitor.expectSound();
    await visitor.go(`agent?id=${encodeURIComponent(HOSTILE)}`);
    expect(await page.locator("main h1").textContent()).toContain("\\u{202e}");
  });
});
