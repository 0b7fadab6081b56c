// The analyst's questions over HTTP on a store of some ten thousand outcomes and decisions, while another tenant's
// query works until its limit of 8 s: each is answered, whatever the other does. Times are printed, not judged.
import { expect, test } from "vitest";
import { lastLine } from "./_last-line.ts";

const SIZE = ["--outcomes", "20000", "--decisions", "5000"];

test("every question is answered beside another tenant's query of 8 s", async () => {
  const report = await lastLine("bench/store-queries.ts", ...SIZE, "--beside");
  const queries = report["queries"] as Record<string, number>;
  console.log(JSON.stringify({ queries, slowest_seconds: report["slowest_seconds"] }));
  expect(Object.keys(queries).length).toBeGreaterThanOrEqual(20);
  expect(report["outcomes"]).toBe(25_000);
  expect(report["beside"]).toMatchObject({ wasAtWork: true });
});
