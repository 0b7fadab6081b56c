// SQL as an analyst uses it: examples, pictures, files, a link that asks, and an answer that is ended.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SQL_EXAMPLES } from "../../../src/console/pages/sql/queries.ts";
import { type ConsoleStage, openConsole, type Visitor } from "../_console.ts";
import { needs } from "../../_needs.ts";

interface Answer {
  readonly rows: readonly (readonly unknown[])[];
}

const LONG = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000) b";
const HOSTILE = "<img src=x onerror=alert(1)>\u202Etxt";

describe("SQL", needs("chromium"), () => {
  let stage: ConsoleStage;
  let visitor: Visitor;
  beforeAll(async () => {
    stage = await openConsole();
    visitor = await stage.newVisitor();
    await visitor.logIn(stage.adminKey);
  });
  afterAll(() => stage?.close());

  const editor = () => visitor.page.getByLabel("Question in SQL");
  const answer = () => visitor.page.getByRole("region", { name: "answer" });
  const ask = async (sql: string) => {
    await editor().fill(sql);
    await editor().press("Control+Enter");
  };

  it("has examples that the service answers", async () => {
    for (const { question, sql } of SQL_EXAMPLES) {
      const { rows } = await stage.ask<Answer>("POST", "/v1/query", { sql });
      expect(rows, question).toBeInstanceOf(Array);
    }
  });

  it("answers what the API answers, and the address keeps the question", async () => {
    const { page } = visitor;
    await visitor.go("sql");
    await ask("SELECT subject, count(*) AS n FROM outcomes GROUP BY 1 ORDER BY n DESC, 1 LIMIT 3");
    await answer().waitFor();
    expect(await page.locator(".sql-picture .bars li").count()).toBe(3);
    const again = await visitor.context.newPage();
    await again.goto(page.url());
    await again.getByRole("region", { name: "answer" }).waitFor();
    const sql = await again.getByLabel("Question in SQL").inputValue();
    const { rows } = await stage.ask<Answer>("POST", "/v1/query", { sql });
    const cells = await again
      .getByRole("region", { name: "answer" })
      .locator("td")
      .allTextContents();
    expect(cells.map((each) => each.trim())).toEqual(
      rows.flatMap(([subject, n]) => [
        String(subject).replace("agent://", ""),
        Number(n).toLocaleString("en"),
      ]),
    );
    await again.close();
  });

  it("draws 500 of 10,000 rows, stays quick, and gives all of them as CSV", async () => {
    const { page } = visitor;
    await ask("SELECT range AS n FROM range(12000)");
    await page.getByText("There are more than 10,000 rows").waitFor();
    expect(await answer().locator("tbody tr").count()).toBe(500);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const text = readFileSync(await file.path(), "utf8");
    expect(text.trim().split("\r\n")).toHaveLength(10_001);
  });

  it("ends a question, and says so", async () => {
    const { page } = visitor;
    await ask(LONG);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("the query was ended by the key that asked it").first().waitFor();
    await ask("SELECT 42 AS answer");
    await answer().getByText("42").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("ends a question whose request is still on the way", async () => {
    const { page } = visitor;
    const { promise, resolve: release } = Promise.withResolvers<void>();
    await page.route(
      "**/v1/query",
      async (route) => {
        await promise;
        await route.continue();
      },
      { times: 1 },
    );
    const early = page.waitForResponse((response) => response.status() === 404);
    await ask(`${LONG} -- on the way`);
    await page.getByRole("button", { name: "Cancel" }).click();
    expect((await early).request().method()).toBe("DELETE");
    release();
    await page.getByText("the query was ended by the key that asked it").first().waitFor();
  });

  it("says what is wrong with a question, and shows foreign text as text", async () => {
    const { page } = visitor;
    await ask("DELETE FROM outcomes");
    await page.getByRole("alert").getByText("query_rejected").waitFor();
    await ask(`SELECT '${HOSTILE}' AS name, NULL AS nothing`);
    await answer().waitFor();
    const cells = await answer().locator("td").allTextContents();
    const shown = String.raw`<img src=x onerror=alert(1)>\u{202e}txt`;
    expect(cells.map((each) => each.trim())).toEqual([shown, "null"]);
  });

  it("explores the views, with their days as Parquet", async () => {
    const { page } = visitor;
    await page.getByLabel("Find a view or a column").fill("outcomes");
    const view = page.locator(".views details").filter({ hasText: "First rows" }).first();
    await page.getByText("outcomes", { exact: true }).first().click();
    await view.getByRole("button", { name: "Summarize" }).waitFor();
    await page.getByLabel("Find a view or a column").fill("decisions_daily");
    await page.getByRole("button", { name: "Parquet" }).click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.locator(".files a").first().click(),
    ]);
    expect(
      readFileSync(await file.path())
        .subarray(0, 4)
        .toString(),
    ).toBe("PAR1");
    await page.getByLabel("Find a view or a column").fill("");
  });

  it("is sound", async () => {
    const { page } = visitor;
    await page.getByRole("button", { name: "Outcomes and failures by day" }).click();
    await page.locator(".chart svg").waitFor();
    expect(await page.locator(".chart svg").count()).toBe(1);
    await page.evaluate(() => scrollTo(0, 0));
    await visitor.expectSound("sql");
  });
});
