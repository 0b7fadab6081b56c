// Overview as a visitor sees it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
});
