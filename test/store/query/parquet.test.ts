// Answers as Parquet files: the rows and types of the query, cut where rows are, and no way to a file by
// the caller's text. Read back by DuckDB.
import * as fs from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDatabase } from "../../../src/store/duckdb.ts";
import { numberColumnNames } from "../../../src/store/query/parquet.ts";
import { quoteLiteral } from "../../../src/store/view.ts";
import type { JournalFollower } from "../../../src/store/journal-follower.ts";
import { fillJournal, openStore, openStoreCore, catchUp } from "../_fixtures.ts";
import { openSandbox, type OpenSandbox } from "../sandbox/_sandbox.ts";

let core: JournalFollower;
let opened: OpenSandbox;
let dataDir: string;

beforeAll(async () => {
  dataDir = fs.mkdtempSync("/tmp/trustrank-parquet-");
  fillJournal(dataDir, 1, 100);
  ({ core } = openStoreCore(dataDir));
  await catchUp(core, 100);
  opened = openSandbox(core, dataDir);
});
afterAll(async () => {
  await opened.sandbox.end();
  await core.close();
  fs.rmSync(dataDir, { recursive: true });
});

const ask = (sql: string, rowsMax = 10_000, form: "rows" | "parquet" = "parquet") => {
  const limits = { rowsMax, timeoutMs: 60_000 };
  const asker = { tenant: undefined, withheld: [] };
  return opened.sandbox.query({ name: "query", sql, limits, asker, form });
};

/** Columns and rows of a file, by DuckDB. */
async function read(bytes: Uint8Array | undefined) {
  const path = join(dataDir, "read.parquet");
  fs.writeFileSync(path, bytes!);
  const database = await openDatabase(":memory:", {
    memoryMegabytes: 512,
    exportDirectory: dataDir,
  });
  const connection = await database.connect();
  try {
    const from = `FROM read_parquet(${quoteLiteral(path)})`;
    const columns = (await connection.rows(`DESCRIBE ${from}`)).map(([name, type]) => [name, type]);
    return { columns, rows: await connection.rows(`SELECT * ${from}`) };
  } finally {
    connection.close();
    database.close();
  }
}

const TYPED = `SELECT position, subject, stakes, settled_at, settled_local, 1.25::DECIMAL(18, 3) AS d,
  [1, 2] AS l, {'a b': 1, 'b c': 'x'} AS s, MAP {'k': 1} AS m, true AS b, DATE '2026-01-31' AS day,
  NULL AS n, 'o''clock' AS "a ""b"""
  FROM outcomes ORDER BY position DESC`;

test("the file has the rows of the answer, with DuckDB's types", async () => {
  const { parquet, rows, isTruncated, columns } = await ask(TYPED);
  const plain = await ask(TYPED, 10_000, "rows");
  expect([rows, isTruncated]).toEqual([[], false]);
  expect(columns).toEqual(plain.columns);
  const back = await read(parquet);
  expect(back.rows).toHaveLength(100);
  expect(back.rows).toEqual(plain.rows);
  expect(back.columns).toEqual(columns.map(({ name, type }) => [name, type]));
});

test.each([1, 2048, 2049, 4999, 5000, 5001])(
  "it is cut at %i rows where the answer is",
  async (rowsMax) => {
    const { parquet, isTruncated } = await ask("SELECT range AS n FROM range(5000)", rowsMax);
    expect(isTruncated).toBe(rowsMax < 5000);
    const { rows } = await read(parquet);
    expect(rows.map(([n]) => n)).toEqual(
      Array.from({ length: Math.min(rowsMax, 5000) }, (_, n) => n),
    );
  },
);

test("columns of one name are kept, as is an answer without rows", async () => {
  const { parquet } = await ask("SELECT 1 AS a, 2 AS A, 3 AS a, 4 AS a_1 WHERE false");
  expect(await read(parquet)).toEqual({
    columns: [
      ["a", "INTEGER"],
      ["A_2", "INTEGER"],
      ["a_3", "INTEGER"],
      ["a_1", "INTEGER"],
    ],
    rows: [],
  });
});

test("names of columns stay different from one another, and keep as many as they can", () => {
  const name = fc.constantFrom("a", "A", "a_1", "A_1", "b", "a_1_1", "");
  fc.assert(
    fc.property(fc.array(name), (names) => {
      const fold = (text: string) => text.toLowerCase();
      const numbered = numberColumnNames(
        names.map((each) => ({ name: each, type: "" })),
        fold,
      );
      expect(new Set(numbered.map(fold)).size).toBe(names.length);
      for (const [index, each] of names.entries()) {
        const isFirst = names.findIndex((other) => fold(other) === fold(each)) === index;
        if (isFirst) expect(numbered[index]).toBe(each);
        else expect(numbered[index]!.startsWith(`${each}_`)).toBe(true);
      }
    }),
    { seed: 1 },
  );
});

test("no file is left, and a failing one is refused like any other query", async () => {
  await expect(ask("SELECT error('no')")).rejects.toMatchObject({ code: "query_rejected" });
  const limits = { rowsMax: 10, timeoutMs: 100 };
  const asker = { tenant: "acme", withheld: [] };
  const sql = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000) b";
  const late = opened.sandbox.query({ name: "query", sql, limits, asker, form: "parquet" });
  await expect(late).rejects.toMatchObject({ errors: [{ code: "timeout" }] });
  await ask("SELECT 1");
  const files = fs.readdirSync(core.exportDirectory, { recursive: true, encoding: "utf8" });
  expect(files.filter((path) => path.endsWith(".parquet"))).toEqual([]);
});

test("a command on files gets one, too", async () => {
  const alone = fs.mkdtempSync("/tmp/trustrank-parquet-");
  fillJournal(alone, 1, 3);
  const { store } = await openStore(alone);
  const limits = { rowsMax: 10, timeoutMs: 10_000 };
  const { parquet } = await store.query(
    "SELECT position FROM outcomes ORDER BY 1",
    limits,
    undefined,
    { form: "parquet" },
  );
  expect((await read(parquet)).rows).toEqual([[1], [2], [3]]);
  await store.close();
  fs.rmSync(alone, { recursive: true });
});
