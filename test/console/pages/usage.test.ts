// Usage as an operator reads it: who has read how much, and what a quota leaves.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UsageReport } from "../../../src/contract/schemas/service.ts";
import { type ConsoleStage, openConsole, type Visitor } from "../_console.ts";
import { needs } from "../../_needs.ts";

const HOSTILE = "<b onclick=alert(1)>\u202Egnp";
const READS = 9;
const QUOTA = 10;

describe("Usage", needs("chromium"), () => {
  let stage: ConsoleStage;
  let visitor: Visitor;
  let acme: string;
  beforeAll(async () => {
    stage = await openConsole();
    const key = (tenant: string, scopes: string[]) =>
      stage.ask<{ key: string }>("POST", "/v1/keys", { tenant, scopes });
    acme = (await key("acme", ["score:read"])).key;
    await key(HOSTILE, ["score:read"]);
    await stage.ask("PUT", "/v1/quotas/acme", { paid_reads_per_month: QUOTA });
    for (let read = 0; read < READS; read += 1) await verify(read % 2 === 0 ? "writer" : "reader");
    for (const tenant of ["globex", "initech"]) {
      const { key: other } = await key(tenant, ["score:read"]);
      const headers = { authorization: `Bearer ${other}` };
      const agents = ["agent://globex/price-scout", "agent://test/slow"];
      for (const agent of agents) {
        await fetch(`${stage.url}/v1/agents/${encodeURIComponent(agent)}`, { headers });
      }
    }
    visitor = await stage.newVisitor();
    await visitor.logIn(stage.adminKey);
  });
  afterAll(() => stage?.close());

  async function verify(name: string): Promise<number> {
    const response = await fetch(`${stage.url}/v1/trust/verify`, {
      method: "POST",
      headers: { authorization: `Bearer ${acme}`, "content-type": "application/json" },
      body: JSON.stringify({
        agent_id: `agent://acme/${name}`,
        action: "pay.invoice",
        tool_level: "L1",
      }),
    });
    return response.status;
  }

  const rows = () => visitor.page.getByRole("region", { name: "tenants" }).locator("tbody tr");
  const figure = (label: string) =>
    visitor.page.locator(".figure", { hasText: label }).locator(".big").textContent();
  const dialog = () => visitor.page.getByRole("dialog");

  it("has a row for each tenant, those that read most first, as the API says", async () => {
    await visitor.go("usage");
    const report = await stage.ask<UsageReport>("GET", "/v1/usage?group_by=tenant");
    expect(report.rows.find(({ tenant }) => tenant === "acme")?.paid_reads).toBe(READS);
    await expect.poll(() => rows().first().textContent()).toMatch(/^acme9/);
    expect(await rows().first().textContent()).toContain("9 of 10");
    expect(await figure("paid reads")).toBe(String(READS + 2));
    expect(await figure("quotas nearly used")).toBe("1");
    expect(await rows().allTextContents()).toContainEqual(
      expect.stringContaining(String.raw`<b onclick=alert(1)>\u{202e}gnp`),
    );
  });

  it("shows those with a quota nearly used, and keeps that in the address", async () => {
    const { page } = visitor;
    await page.locator("#usage-show").selectOption("near");
    await expect.poll(() => rows().count()).toBe(1);
    expect(page.url()).toContain("show=near");
    await page.getByLabel("Time").selectOption("before");
    await expect.poll(() => figure("paid reads")).toBe("0");
    expect(page.url()).toContain("range=before");
    await page.getByRole("link", { name: "Clear" }).click();
    await expect.poll(() => figure("paid reads")).toBe(String(READS + 2));
  });

  it("opens a tenant with its keys, and the way to its agents and decisions", async () => {
    const { page } = visitor;
    await rows().first().getByRole("link", { name: "acme", exact: true }).click();
    await page.getByRole("heading", { name: "Tenant acme" }).waitFor();
    expect(page.url()).toContain("tenant=acme");
    const keys = page.getByRole("region", { name: "keys of acme" }).locator("tbody tr");
    expect(await keys.count()).toBe(1);
    const { keys: used } = await stage.ask<UsageReport>("GET", "/v1/usage");
    const { key_id: id } = used.find(({ tenant }) => tenant === "acme")!;
    expect(await keys.first().textContent()).toBe(`${id}99000000000`);
    const hrefs = await page
      .locator(".facts a")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    expect(hrefs).toContain("#/keys?tenant=acme&state=all");
    expect(hrefs).toContain("#/decisions?tenant=acme");
    await visitor.expectSound("usage");
  });

  it("sets, and takes away, a quota that holds at once", async () => {
    const { page } = visitor;
    await page.getByRole("button", { name: "Change its quota…" }).click();
    await dialog().getByLabel("Paid reads a month").fill("-1");
    await dialog().getByRole("button", { name: "Set" }).click();
    expect(await dialog().count()).toBe(1);
    await dialog().getByLabel("Paid reads a month").fill("5");
    await dialog().getByText("refused until next month").waitFor();
    await dialog().getByRole("button", { name: "Set" }).click();
    await dialog().waitFor({ state: "detached" });
    await page.getByText("9 of 5").first().waitFor();
    await expect.poll(() => verify("writer")).toBe(429);
    await page.getByRole("button", { name: "Remove its quota…" }).click();
    await dialog().getByLabel("to go on").fill("acme");
    await dialog().getByRole("button", { name: "Remove" }).click();
    await dialog().waitFor({ state: "detached" });
    await expect.poll(() => verify("writer")).toBe(200);
    const sql = "SELECT event FROM audit_events WHERE via IS NOT NULL ORDER BY position";
    const changes = async () =>
      (await stage.ask<{ rows: unknown[][] }>("POST", "/v1/query", { sql })).rows;
    await expect.poll(changes).toEqual([["quota.set"], ["quota.removed"]]);
  });

  it("gives the days and keys as a file", async () => {
    const { page } = visitor;
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV by day and key" }).click();
    const download = await waiting;
    expect(download.suggestedFilename()).toMatch(/^usage-[\d-]{10}-[\d-]{10}\.csv$/);
    const [head, ...lines] = readFileSync(await download.path(), "utf8")
      .trim()
      .split(/\r?\n/);
    expect(head).toMatch(/^day,tenant,key_id,paid_reads,/);
    expect(lines.some((line) => line.includes(",acme,"))).toBe(true);
    expect(visitor.complaints).toEqual([]);
  });

  it("shows a key without `admin` what its own tenant has used", async () => {
    const scopes = ["analytics:read", "score:read"];
    const { key } = await stage.ask<{ key: string }>("POST", "/v1/keys", {
      tenant: "acme",
      scopes,
    });
    const analyst = await stage.newVisitor();
    await analyst.logIn(key);
    await analyst.go("usage");
    const tenants = analyst.page.getByRole("region", { name: "tenants" }).locator("tbody tr");
    await expect.poll(() => tenants.count()).toBe(1);
    expect(await tenants.first().textContent()).toContain("acme");
    expect(await analyst.page.getByRole("button", { name: "Set a quota…" }).count()).toBe(0);
  });
});
