// Overview as a visitor sees it.
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { type ConsoleStage, openConsole } from "../_console.ts";
import { needs } from "../../_needs.ts";

const AGENTS = ["acme/billing-bot", "acme/ledger-sync", "globex/courier", "umbrella/dispatch"];
const LEVELS = ["L1", "L2", "L2", "L3"];
/** A picture shows a whole minute. */
const SECONDS = process.env["TRUSTRANK_PICTURES"] ? 55 : 1;

/** Asks as a gateway does, more and less often. @returns how many were let through. */
async function sendRequests(stage: ConsoleStage): Promise<number> {
  const end = performance.now() + SECONDS * 1000;
  let allowed = 0;
  for (let at = 0; performance.now() < end; at++) {
    const body = {
      agent_id: `agent://${AGENTS[at % AGENTS.length]}`,
      action: "order.place",
      tool_level: LEVELS[(at >> 2) % LEVELS.length],
      context: { stakes: 10 ** (at % 5) },
    };
    const { verdict } = await stage.ask<{ verdict: string }>("POST", "/v1/trust/verify", body);
    if (verdict === "ALLOW") allowed++;
    await wait(25 + 20 * Math.sin(at / 90) + 10 * Math.cos(at / 17));
  }
  return allowed;
}

describe("Overview", needs("chromium"), () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await openConsole();
    const ask = { agent_id: "agent://globex/price-scout", action: "order.place", tool_level: "L3" };
    await stage.ask("POST", "/v1/trust/verify", { ...ask, context: {} });
  });
  afterAll(() => stage?.close());

  it("shows the latest decisions, each with the way to its agent", async () => {
    const { page, expectSound } = await stage.visit("");
    await page.getByRole("link", { name: "globex/price-scout" }).first().waitFor();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Overview");
    await expectSound();
  });

  it("shows the way to what waits, to agents and to the denials behind a reason", async () => {
    const { page } = await stage.visit("");
    const { total } = await stage.ask<{ total: number }>("GET", "/v1/agents?limit=1");
    const agents = page.locator(".figure", { hasText: "on record" }).getByRole("link");
    await expect.poll(() => agents.textContent()).toBe(String(total));
    const reviews = page.locator(".figure", { hasText: "open reviews" }).getByRole("link");
    expect(await reviews.getAttribute("href")).toBe("#/reviews");
    const reason = page.locator(".bars a").first();
    const denials = await page.locator(".bars .n").first().textContent();
    const name = await reason.textContent();
    await reason.click();
    await page.getByRole("heading", { level: 1, name: "Decisions" }).waitFor();
    expect(decodeURIComponent(page.url())).toContain(`reason=${name}`);
    const entries = page.getByRole("region", { name: /decisions/i }).locator("tbody tr");
    await expect.poll(() => entries.count()).toBe(Number(denials));
  });

  it("takes a newcomer through five steps, until that is dismissed", async () => {
    const { page, complaints } = await stage.visit("");
    const steps = page.locator(".tour a");
    await page.getByText("sample history").waitFor();
    expect(await steps.count()).toBe(5);
    await steps.nth(1).click();
    await page.getByRole("heading", { level: 1 }).filter({ hasText: "price-scout" }).waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => steps.count()).toBe(0);
    await page.reload();
    await page.getByRole("button", { name: "Show the tour" }).click();
    expect(await steps.count()).toBe(5);
    expect(complaints).toEqual([]);
  });

  it("counts what is answered while it is open, in the range of its address", async () => {
    const { page } = await stage.visit("?range=15m");
    await page.getByRole("heading", { name: "Verdicts per second" }).waitFor();
    await expect.poll(() => page.getByLabel("time range").inputValue()).toBe("15m");
    const denied = page.locator(".figure", { hasText: "refused" }).locator(".big");
    const before = Number(await denied.textContent());
    const ask = { agent_id: "agent://nobody/unknown", action: "order.place", tool_level: "L3" };
    await stage.ask("POST", "/v1/trust/verify", { ...ask, context: {} });
    await vi.waitFor(async () => expect(Number(await denied.textContent())).toBe(before + 1), {
      timeout: WAIT_MS_MAX,
    });
    await page.getByLabel("time range").selectOption("1m");
    await page.waitForURL(/range=1m/);
  });

  it("shows what a minute of requests came to", async () => {
    const { page, expectSound } = await stage.visit("?range=1m");
    const allowed = await sendRequests(stage);
    const shown = page.locator(".figure", { hasText: "allowed" }).locator(".big");
    const sum = async () => Number((await shown.textContent())?.replaceAll(",", ""));
    await expect.poll(sum, { timeout: WAIT_MS_MAX }).toBeGreaterThanOrEqual(Math.min(allowed, 20));
    await expectSound("overview");
  }, 120_000);
});
