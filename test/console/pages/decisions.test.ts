// Decisions and one decision as a visitor sees them: chosen by facets, walked by keys, opened, judged again,
// compared; against what the API says.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoggedLeg } from "../../../src/contract/schemas/decisions.ts";
import type { DecisionTrace } from "../../../src/contract/schemas/trace.ts";
import { type ConsoleStage, openConsole } from "../_console.ts";
import { needs } from "../../_needs.ts";

describe("Decisions", needs("chromium"), () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await openConsole();
    const agents = ["globex/price-scout", "acme/ledger-sync", "umbrella/newcomer", "test/refuse"];
    for (const [n, agent] of agents.entries()) {
      for (const level of ["L0", "L1", "L2", "L3"] as const) {
        await stage.ask("POST", "/v1/trust/verify", {
          agent_id: `agent://${agent}`,
          action: n % 2 === 0 ? "order.place" : "payments.transfer",
          tool_level: level,
          stakes: level === "L3" ? 900 : 20,
          context: {},
        });
      }
    }
    const parties = {
      initiator: "agent://acme/ledger-sync",
      counterparty: "agent://globex/price-scout",
    };
    await stage.ask("POST", "/v1/handshake", { ...parties, stakes: 50 });
  });
  afterAll(() => stage?.close());

  const list = async (query: string) =>
    (await stage.ask<{ decisions: LoggedLeg[] }>("GET", `/v1/decisions?limit=50&${query}`))
      .decisions;

  const first = async (query: string) => {
    const [leg] = await list(query);
    if (leg === undefined) throw new Error(`no decision by ${query}`);
    return leg;
  };

  it("shows the entries that the facets choose, as the API does", async () => {
    const { page, expectSound } = await stage.visit("decisions");
    const rows = page.getByRole("region", { name: "decisions", exact: true }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe((await list("")).length);
    const outcomes = page.getByRole("region", { name: "Outcome", exact: true });
    for (const [words, disposition] of [
      ["allowed", "allow"],
      ["step-up", "step_up"],
      ["refused", "refuse"],
    ] as const) {
      await outcomes.getByRole("button", { name: words }).click();
      await expect.poll(() => page.url()).toContain(`disposition=${disposition}`);
      const chosen = await list(`disposition=${disposition}`);
      expect(chosen.length).toBeGreaterThan(0);
      await expect.poll(() => rows.count()).toBe(chosen.length);
      const tags = async () => new Set(await rows.locator(".answer .tag").allTextContents());
      await expect.poll(tags).toEqual(new Set([words]));
      await page.getByRole("button", { name: `Remove Outcome ${words}` }).click();
    }
    const legend = page.locator(".legend").first();
    await expect.poll(() => legend.textContent()).toMatch(/allowed.*step-up.*person.*refused/);
    await expect.poll(() => rows.count()).toBe((await list("")).length);
    await expectSound("decisions");
  });

  it("walks by j and k, and opens by Enter", async () => {
    const { page } = await stage.visit("decisions?level=L3");
    const ids = (await list("level=L3")).map((leg) => leg.request_id);
    await page.getByRole("region", { name: "decisions", exact: true }).waitFor();
    for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
    await expect.poll(() => page.url()).toContain("at=1");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Decision", exact: true }).waitFor();
    expect(page.url()).toContain(ids[1]);
  });

  it("draws why as a chain, judges again and compares", async () => {
    const subject = encodeURIComponent("agent://globex/price-scout");
    const leg = await first(`level=L3&subject=${subject}`);
    const { page, expectSound } = await stage.visit(`decision?id=${leg.request_id}`);
    const decided = page.getByRole("region", { name: "rules" }).locator("tr.decides");
    await expect.poll(async () => decided.textContent()).toContain(leg.log_reason);
    const { why } = await stage.ask<DecisionTrace>("GET", `/v1/decisions/${leg.request_id}/trace`);
    expect(await page.locator("main .why").textContent()).toBe(why);
    expect(why).toMatch(/of the agent's calls are expected to fail; at L3 at most 5/);
    await page.getByRole("button", { name: "Judge again" }).click();
    await page.getByText("The same to the last bit").waitFor();
    await expectSound("decision");
    await page.getByRole("link", { name: "Compare with another" }).click();
    await page.getByText("Choose a decision to compare with").waitFor();
    await page.getByRole("region", { name: "decisions", exact: true }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "members that differ" }).waitFor();
  });

  it("keeps all columns in sight, whatever an agent is called", async () => {
    const agent = `agent://acme/${"longest-name-of-an-agent-".repeat(5)}/of/${"its-own-name-".repeat(9)}`;
    const unbroken = `agent://acme/${Array.from({ length: 3 }, () => "x".repeat(128)).join("/")}`;
    for (const agent_id of [agent, unbroken]) {
      await stage.ask("POST", "/v1/trust/verify", {
        agent_id,
        action: "order.place".padEnd(120, "y"),
        tool_level: "L2",
        context: {},
      });
    }
    const { page, expectSound } = await stage.visit("decisions");
    const region = page.getByRole("region", { name: "decisions", exact: true });
    const name = region.locator(`a.agent[title="${agent}"]`);
    await name.waitFor();
    expect(await name.textContent()).toMatch(/^\s*acme\/longest.*….*its-own-name-\s*$/);
    await region.locator(`a.agent[title="${unbroken}"]`).waitFor();
    expect(await region.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
    await expectSound();
  });

  it("shows both legs of a handshake, and says of an unknown id that there is none", async () => {
    const leg = await first("kind=handshake");
    const visitor = await stage.visit(`decision?id=${leg.request_id}`);
    const { page, complaints } = visitor;
    await page.getByRole("button", { name: "acme/ledger-sync" }).click();
    await expect.poll(() => page.url()).toContain("leg=b_to_a");
    await visitor.go("decision?id=nothing");
    await page.getByText("no decision has this request id").waitFor();
    expect(complaints).toEqual([]);
  });
});
