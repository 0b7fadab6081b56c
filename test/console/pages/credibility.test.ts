// Credibility as a visitor sees it: a market with auditors as seeds, buyers whom they deal with, and a ring
// that praises itself.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AUDITOR, honestHistory, ringReports, SEEDS } from "../../kaizen/_market.ts";
import { type ConsoleStage, openConsole } from "../_console.ts";
import { needs } from "../../_needs.ts";

interface Graph {
  readonly reporters: number;
  readonly nodes: readonly { id: string; kind: string; cluster: number }[];
  readonly edges: readonly object[];
}

/** Six invented agents who praise the same four: one voice. */
function choir(nowMs: number): object[] {
  return Array.from({ length: 24 }, (_, i) => ({
    reporter: `agent://choir/voice-${i % 6}`,
    subject: `agent://choir/star-${Math.floor(i / 6)}`,
    outcome: 1,
    stakes: 10,
    grade: "escrow",
    settled_at: nowMs - 60_000,
  }));
}

describe("Credibility", needs("chromium"), () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await openConsole(["--no-sample"], { TRUSTRANK_SEEDS: SEEDS });
  });
  afterAll(() => stage?.close());

  it("says what fills it before there is anything", async () => {
    const { page, expectSound } = await stage.visit("credibility");
    await page.getByText("No reporters yet").waitFor();
    expect(await page.locator("svg.graph").count()).toBe(0);
    await expectSound();
  });

  it("draws the last batch, lists the same reporters, and shows one of them", async () => {
    const nowMs = Date.now();
    const list = [...honestHistory(nowMs), ...ringReports(nowMs, 0), ...choir(nowMs)];
    for (let at = 0; at < list.length; at += 100) {
      await stage.ask("POST", "/v1/outcomes/batch", list.slice(at, at + 100));
    }
    const { page, expectSound, context } = await stage.visit("credibility");
    await page.getByRole("button", { name: "Compute now…" }).click();
    await page.getByRole("button", { name: "Compute", exact: true }).click();
    await page.getByText("in force", { exact: true }).waitFor();
    const graph = await stage.ask<Graph>("GET", "/v1/kaizen/credibility/graph");
    const table = page.getByRole("region", { name: "reporters" });
    await expect.poll(() => table.locator("tbody tr").count()).toBe(graph.nodes.length);
    expect(await page.locator("svg.graph .node").count()).toBe(graph.nodes.length);
    expect(await page.locator("svg.graph .edge").count()).toBe(graph.edges.length);
    expect(graph.nodes.some(({ cluster }) => cluster > 0)).toBe(true);
    const clusters = new Set(graph.nodes.flatMap(({ cluster }) => (cluster > 0 ? [cluster] : [])));
    expect(await page.locator("svg.graph .hull").count()).toBe(clusters.size);

    // By the keyboard alone: the link of a row opens the reporter.
    const link = table.getByRole("link", { name: "audit/0" });
    await link.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: AUDITOR }).waitFor();
    await page.getByText("vouches for", { exact: true }).first().waitFor();
    await page.getByText("failures among its reports").waitFor();
    expect(page.url()).toContain(`reporter=${encodeURIComponent(AUDITOR)}`);
    await expectSound("credibility");

    await page.getByRole("button", { name: "Draw around it" }).click();
    await expect.poll(() => page.locator("svg.graph .node.stranger").count()).toBe(0);
    await page.getByLabel("Around").fill("agent://nobody/known");
    await page.getByLabel("Around").press("Enter");
    await page.getByText("the last batch kept no such reporter").waitFor();
    await context.close();
  }, 120_000);

  it("lists one kind from the address", async () => {
    const graph = await stage.ask<Graph>("GET", "/v1/kaizen/credibility/graph");
    const { page } = await stage.visit("credibility?kind=seed");
    const table = page.getByRole("region", { name: "reporters" });
    const seeds = graph.nodes.filter(({ kind }) => kind === "seed").length;
    await expect.poll(() => table.locator("tbody tr").count()).toBe(seeds);
    expect(seeds).toBe(3);
  });
});
