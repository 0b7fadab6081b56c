// Parameters of queries, the place of an error in the statement, and spans of time in answers.
import * as fs from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { QueryParameter } from "../../../src/contract/schemas/service.ts";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import type { OpenStore } from "../../../src/store/client.ts";
import { fillJournal, LIMITS, openStore } from "../_fixtures.ts";

let dataDir: string;
let store: OpenStore;

beforeAll(async () => {
  dataDir = fs.mkdtempSync("/tmp/trustrank-parameters-");
  fillJournal(dataDir, 1, 50);
  ({ store } = await openStore(dataDir));
});

afterAll(async () => {
  await store.close();
  fs.rmSync(dataDir, { recursive: true });
});

const ask = async (sql: string, params: QueryParameter[] = [], tenant?: string) =>
  (await store.query(sql, LIMITS, tenant, { params })).rows;

const refusalOf = (sql: string, params: QueryParameter[] = []) =>
  ask(sql, params).then(
    (rows) => expect.fail(JSON.stringify(rows)),
    ({ code, detail, errors }: ServiceFault) => ({ code, detail, errors }),
  );

test("values take the places of `?` and `$1`, for a tenant too", async () => {
  const [[subject]] = (await ask("SELECT subject FROM outcomes LIMIT 1")) as [[string]];
  const count = "SELECT count(*) > 0 FROM outcomes WHERE subject = $1 AND stakes >= $2";
  expect(await ask(count, [subject, 0])).toEqual([[true]]);
  expect(await ask(count, ["' OR 1=1 --", 0])).toEqual([[false]]);
  expect(await ask("SELECT count(*) FROM (FROM outcomes LIMIT ?)", [3], "acme")).toEqual([[3]]);
});

test("every value of JSON comes back as it was given", async () => {
  const value = fc.oneof(
    fc.string({ unit: "binary" }).filter((text) => !text.includes("\0")),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
    fc.boolean(),
    fc.constant(null),
  );
  await fc.assert(
    fc.asyncProperty(value, value, async (first, second) => {
      expect(await ask("SELECT ?, ?", [first, second])).toEqual([[first, second]]);
    }),
    { numRuns: 60 },
  );
});

test.each([
  ["SELECT ?", [], "the query has 1 parameters, and there are 0 values for them", "/params"],
  ["SELECT 1", [1], "the query has 0 parameters, and there are 1 values for them", "/params"],
] as const)("%s with %j is refused", async (sql, params, detail, pointer) => {
  const { code, detail: told, errors } = await refusalOf(sql, [...params]);
  expect({ code, told }).toEqual({ code: "query_rejected", told: detail });
  expect(errors).toMatchObject([{ pointer, code: "length" }]);
});

test("lengths that a value would choose are refused as before", async () => {
  const { detail } = await refusalOf("SELECT lpad('a', ?)", [1e9]);
  expect(detail).toBe("the length of `lpad` must stand in the query as it is");
});

test("PIVOT asks for its values by IN where there are parameters", async () => {
  const sql = "PIVOT (FROM outcomes WHERE stakes > ?) ON grade USING count(*)";
  expect((await refusalOf(sql, [0])).detail).toMatch(/name the values by IN$/);
});

test("a word that the parser does not take is marked in its line", async () => {
  const { detail, errors } = await refusalOf("SELECT 'ä😀',\n  subject FRM outcomes");
  expect(detail).toBe('syntax error at or near "outcomes"');
  const line = "LINE 2:   subject FRM outcomes";
  const place = `${line}\n${" ".repeat(line.indexOf("outcomes"))}^`;
  expect(errors).toEqual([{ pointer: "/sql", code: "sql", detail: place }]);
});

test("a column that there is not is marked, and another one suggested", async () => {
  const { detail, errors } = await refusalOf("SELECT subjekt FROM outcomes");
  expect(detail).toMatch(
    /^referenced column "subjekt" not found in FROM clause; Candidate.*"subject"/,
  );
  expect(errors).toMatchObject([{ pointer: "/sql", code: "sql" }]);
  expect(errors[0]!.detail).toBe("LINE 1: SELECT subjekt FROM outcomes\n               ^");
});

test.each([
  ["INTERVAL '0 days'", "PT0S"],
  ["INTERVAL '14 months 3 days 04:05:06.5'", "P1Y2M3DT4H5M6.5S"],
  ["INTERVAL '-90 minutes'", "PT-1H-30M"],
  ["INTERVAL '36 hours'", "PT36H"],
])("%s is %s", async (sql, iso) => {
  expect(await ask(`SELECT ${sql}`)).toEqual([[iso]]);
});
