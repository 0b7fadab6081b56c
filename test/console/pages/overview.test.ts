// Overview as a visitor sees it.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { type ConsoleStage, openConsole, whySkipped } from "../_console.ts";

describe.skipIf(whySkipped !== undefined)(`Overview ${whySkipped ?? ""}`, () => {
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
    await expectSound("overview");
  });

  it("counts what is answered while it is open, in the range of its address", async () => {
    const { page } = await stage.visit("?range=15m");
    await page.getByRole("heading", { name: "Answers a second" }).waitFor();
    expect(await page.getByLabel("time range").inputValue()).toBe("15m");
    const denied = page.locator(".figure", { hasText: "denied" }).locator(".big");
    const before = Number(await denied.textContent());
    const ask = { agent_id: "agent://nobody/unknown", action: "order.place", tool_level: "L3" };
    await stage.ask("POST", "/v1/trust/verify", { ...ask, context: {} });
    await vi.waitFor(async () => expect(Number(await denied.textContent())).toBe(before + 1), {
      timeout: WAIT_MS_MAX,
    });
    await page.getByLabel("time range").selectOption("1m");
    await page.waitForURL(/range=1m/);
  });
});
