// Conditions and stops as an operator keeps them in the console: set, replaced, lifted, and what decides meanwhile.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Scope } from "../../../src/contract/vocabulary.ts";
import type { ConditionList, StopDescription } from "../../../src/contract/schemas/conditions.ts";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { type ConsoleStage, openConsole, type Visitor } from "../_console.ts";
import { needs } from "../../_needs.ts";

const AGENT = "agent://acme/ledger-sync";
const HOSTILE = "<b onclick=alert(1)>\u202Egnp";
const PAGE_ROWS = 50;

describe("Conditions", needs("chromium"), () => {
  let stage: ConsoleStage;
  let visitor: Visitor;
  beforeAll(async () => {
    stage = await openConsole();
    visitor = await stage.newVisitor();
    await visitor.logIn(stage.adminKey);
  });
  afterAll(() => stage?.close());

  const table = (of = visitor) => of.page.getByRole("region", { name: "conditions" });
  const rows = (of = visitor) => table(of).locator("tbody tr");
  const dialog = () => visitor.page.getByRole("dialog");
  const closed = () => dialog().waitFor({ state: "detached" });
  const press = (name: string | RegExp) => visitor.page.getByRole("button", { name }).click();
  const confirm = (name: string) =>
    dialog().getByRole("button", { name, exact: true }).click().then(closed);
  const verify = async (agent: string, level = "L1") => {
    const asked = { agent_id: agent, action: "order.place", tool_level: level, context: {} };
    const answer = await stage.ask<VerifyResponse>("POST", "/v1/trust/verify", asked);
    return [answer.policy_action.verdict, answer.policy_action.log_reason];
  };
  const listed = async (query = "") =>
    (await stage.ask<ConditionList>("GET", `/v1/conditions${query}`)).conditions;
  const newVisitor = async (...scopes: Scope[]) => {
    const made = await stage.ask<{ key: string }>("POST", "/v1/keys", { tenant: "acme", scopes });
    const other = await stage.newVisitor();
    await other.logIn(made.key);
    return other;
  };

  it("suspends an agent on its page, shows it and lifts it", async () => {
    const { page } = visitor;
    const before = await verify(AGENT);
    await visitor.go(`agent?id=${encodeURIComponent(AGENT)}`);
    await page.getByText("No condition covers it").waitFor();
    await press("Set a condition…");
    await dialog().getByLabel("Reason code").fill("Not A Code");
    await dialog().getByRole("button", { name: "Set", exact: true }).click();
    await dialog().getByText("/reason/code", { exact: true }).waitFor();
    await dialog().getByLabel("Reason code").fill("incident");
    await dialog().getByLabel("Reason text").fill("forged <i>invoices</i>");
    await dialog().getByLabel("Ends").selectOption("7");
    await visitor.expectSound();
    await confirm("Set");
    await rows().getByText("suspended").waitFor();
    await rows().getByText("forged <i>invoices</i>").waitFor();
    const [set] = await listed(`?agent=${encodeURIComponent(AGENT)}`);
    expect(set).toMatchObject({
      subject: AGENT,
      state: "suspended",
      scope: "tenant",
      levels: null,
    });
    expect(set?.until).not.toBeNull();
    expect(await verify(AGENT)).toEqual(["BLOCK", "SUSPENDED"]);
    await visitor.expectSound();
    await press(/^Lift the condition/);
    await confirm("Lift");
    await page.getByText("No condition covers it").waitFor();
    expect(await verify(AGENT)).toEqual(before);
    expect(await listed()).toEqual([]);
  });

  it("clears a namespace up to some stakes and at some levels, which must end", async () => {
    await visitor.go("conditions");
    await press("Set a condition…");
    await dialog().getByLabel("Agent or namespace").fill("agent://globex/*");
    await dialog().getByLabel("State").selectOption("cleared");
    expect(await dialog().getByLabel("Ends").inputValue()).toBe("7");
    await dialog().getByLabel("L2").check();
    await dialog().getByLabel("Up to stakes of").fill("500");
    await dialog().getByLabel("Reason code").fill("investigation");
    await confirm("Set");
    await rows().getByText("L2, up to 500").waitFor();
    expect(await listed()).toMatchObject([
      { subject: "agent://globex/*", state: "cleared", levels: ["L2"], max_stakes: 500 },
    ]);
    expect(await verify("agent://globex/price-scout", "L2")).toEqual(["ALLOW", "CLEARED"]);
    await press(/^Replace the condition/);
    expect(await dialog().getByLabel("Up to stakes of").inputValue()).toBe("500");
    await dialog().getByLabel("State").selectOption("watch");
    await confirm("Replace");
    await rows().getByText("watch", { exact: true }).waitFor();
    expect(await listed()).toMatchObject([{ state: "watch", levels: ["L2"], max_stakes: null }]);
  });

  it("stops all agents once the word is typed, says so on every page and lifts it", async () => {
    const { page } = visitor;
    const fraud = {
      state: "suspended",
      scope: "bureau",
      reason: { code: "fraud", text: "forged invoices" },
    };
    await stage.ask(
      "PUT",
      `/v1/agents/${encodeURIComponent("agent://hooli/search-agent")}/condition`,
      {
        ...fraud,
        case: "INC-7",
      },
    );
    await press("Refresh");
    await press("Stop all agents…");
    await dialog().getByLabel("Stopped").selectOption("L1");
    await dialog().getByLabel("Reason code").fill("incident");
    const doIt = dialog().getByRole("button", { name: "Stop all agents" });
    expect(await doIt.isDisabled()).toBe(true);
    await dialog().getByLabel("Type stop to go on").fill("stop");
    await visitor.expectSound();
    await doIt.click();
    await closed();
    const banner = page.getByText("All agents are stopped at levels above L1");
    await banner.waitFor();
    expect(await verify(AGENT, "L2")).toEqual(["BLOCK", "STOPPED"]);
    await visitor.expectSound("conditions");
    for (const place of ["", "keys", `agent?id=${encodeURIComponent(AGENT)}`]) {
      await visitor.go(place);
      await banner.waitFor();
    }
    const { stops } = await stage.ask<{ stops: StopDescription[] }>("GET", "/v1/stop");
    expect(stops).toMatchObject([{ above: "L1", scope: "tenant", reason: { code: "incident" } }]);
    await press("Lift the stop…");
    await confirm("Lift");
    await banner.waitFor({ state: "detached" });
    expect(await stage.ask("GET", "/v1/stop")).toEqual({ stops: [] });
  });

  it("are listed by page, filtered by state, owner and agent in the address", async () => {
    const { page } = visitor;
    const conditions = Array.from({ length: PAGE_ROWS }, (_, at) => ({
      subject: `agent://initech/bot-${String(at).padStart(3, "0")}`,
      state: "suspended",
      reason: { code: "incident", text: HOSTILE },
    }));
    await stage.ask("POST", "/v1/conditions", { conditions });
    const { total } = await stage.ask<ConditionList>("GET", "/v1/conditions");
    await visitor.go("conditions");
    await page.getByRole("heading", { name: `${total} conditions` }).waitFor();
    await expect.poll(() => rows().count()).toBe(PAGE_ROWS);
    await visitor.expectSound();
    await page.getByRole("button", { name: `Next ${PAGE_ROWS}` }).click();
    await expect.poll(() => rows().count()).toBe(total - PAGE_ROWS);
    expect(page.url()).toContain("after=");
    expect(await rows().last().textContent()).toContain(
      String.raw`<b onclick=alert(1)>\u{202e}gnp`,
    );
    await page.getByLabel("State").selectOption("watch");
    await rows().getByText("agent://globex/*".slice("agent://".length)).waitFor();
    expect(page.url()).not.toContain("after=");
    await page.getByLabel("Covers the agent").fill("agent://initech/bot-007");
    await page.keyboard.press("Enter");
    await page.getByText("No condition fits").waitFor();
    await page.getByLabel("State").selectOption("suspended");
    await expect.poll(() => rows().count()).toBe(1);
  });

  it("give buttons only to keys with the right", async () => {
    const bureauStop = { scope: "bureau", above: "L2", reason: { code: "incident" } };
    await stage.ask("PUT", "/v1/stop", bureauStop);
    const word = { state: "suspended", reason: { code: "incident" } };
    const route = `/v1/agents/${encodeURIComponent("agent://acme/held")}/condition`;
    await stage.ask("PUT", `${route}?tenant=acme`, word);

    const reader = await newVisitor("score:read", "analytics:read");
    await reader.go("conditions");
    await reader.page.getByText("by the bureau, for all tenants").waitFor();
    await expect.poll(() => rows(reader).count()).toBe(2);
    const buttons = (of: Visitor) =>
      of.page.getByRole("main").getByRole("button", { name: /Set a|Stop all|Lift|Replace/ });
    expect(await buttons(reader).count()).toBe(0);
    expect(reader.complaints).toEqual([]);
    await reader.context.close();

    const restrictor = await newVisitor("score:read", "conditions:restrict");
    await restrictor.go("conditions");
    await expect.poll(() => rows(restrictor).count()).toBe(2);
    expect(await buttons(restrictor).allTextContents()).toEqual([
      "Set a condition…",
      "Stop all agents…",
      "Replace…",
      "Lift…",
    ]);
    await restrictor.page.getByRole("button", { name: "Set a condition…" }).click();
    const states = restrictor.page.getByRole("dialog").getByLabel("State").locator("option");
    expect(await states.allTextContents()).toEqual(["suspended", "watch"]);
    await restrictor.context.close();

    // A key that reads no scores still sees that agents are stopped.
    const reviewer = await newVisitor("reviews:decide");
    await reviewer.page.getByText("by the bureau, for all tenants").waitFor();
    await reviewer.context.close();
    await stage.ask("DELETE", "/v1/stop?scope=bureau");
  });

  it("an administrator sets the bureau's, and lifts them and other tenants'", async () => {
    await visitor.go("conditions");
    await press("Set a condition…");
    await dialog().getByLabel("Agent or namespace").fill("agent://wonka/*");
    await dialog().getByLabel("Reason code").fill("fraud");
    await dialog().getByLabel("Of the bureau").check();
    await confirm("Set");
    const route = "/v1/namespaces/wonka/condition?scope=bureau";
    expect(await stage.ask("GET", route)).toMatchObject({ tenant: null, state: "suspended" });
    const held = await listed(`?agent=${encodeURIComponent("agent://acme/held")}`);
    expect(held).toMatchObject([{ tenant: "acme" }]);
    for (const [agent, subject] of [
      ["agent://acme/held", "agent://acme/held"],
      ["agent://wonka/any", "agent://wonka/*"],
    ] as const) {
      await visitor.go(`conditions?agent=${encodeURIComponent(agent)}`);
      await press(`Lift the condition of ${subject}`);
      await confirm("Lift");
      await visitor.page.getByText("No condition fits").waitFor();
      expect(await listed(`?agent=${encodeURIComponent(agent)}`)).toEqual([]);
    }
  });
});
