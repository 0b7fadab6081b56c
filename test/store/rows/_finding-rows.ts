// Views of findings over a generated market in memory, without a journal: as the store has its rows.
import { tmpdir } from "node:os";
import { RING_BIT, readClusterNumber } from "../../../src/contract/standings.ts";
import { openDatabase } from "../../../src/store/duckdb.ts";
import { FINDING_VIEWS } from "../../../src/store/rows/finding-views.ts";
import { computeRingMarks } from "../../../src/kaizen/credibility/standings.ts";
import { buildHistory } from "../../kaizen/credibility/_judged-market.ts";
import type { Market } from "../../kaizen/credibility/_market.ts";

export interface FindingRows {
  ask(sql: string): Promise<unknown[][]>;
  close(): void;
}

/** Rows of the market, the marks that a batch without seeds makes of it, and the views over both. */
export async function openFindingRows(market: Market): Promise<FindingRows> {
  const { outcomes } = market;
  const options = { memoryMegabytes: 1024, exportDirectory: tmpdir() };
  const database = await openDatabase(":memory:", options);
  const connection = await database.connect();
  await connection.run(`CREATE TABLE told (reporter VARCHAR, subject VARCHAR, outcome UTINYINT,
      stakes DOUBLE, settled_ms DOUBLE);
    CREATE TABLE marks (position DOUBLE, agent VARCHAR, number DOUBLE, ring UTINYINT)`);
  await connection.appendColumns(
    "told",
    ["VARCHAR", "VARCHAR", "UTINYINT", "DOUBLE", "DOUBLE"],
    [
      outcomes.map(({ reporter }) => reporter),
      outcomes.map(({ subject }) => subject),
      outcomes.map(({ outcome }) => outcome),
      outcomes.map(({ stakes }) => stakes),
      outcomes.map(({ settledAtMs }) => settledAtMs),
    ],
    outcomes.length,
  );
  const { agents } = computeRingMarks(buildHistory(market)).standings;
  await connection.appendColumns(
    "marks",
    ["DOUBLE", "VARCHAR", "DOUBLE", "UTINYINT"],
    [
      agents.map((_, i) => i),
      agents.map(({ agent }) => agent),
      agents.map(({ cluster }) => readClusterNumber(cluster)),
      agents.map(({ cluster }) => ((cluster & RING_BIT) === 0 ? 0 : 1)),
    ],
    agents.length,
  );
  await connection.run(`CREATE VIEW outcome_rows AS SELECT *, epoch_ms(CAST(settled_ms AS BIGINT)) AS settled_at,
      true AS agent_fault FROM told;
    CREATE VIEW standing_rows AS SELECT position, agent, CAST(number AS BIGINT) AS cluster,
      ring = 1 AS in_ring FROM marks`);
  for (const [name, { sql }] of Object.entries(FINDING_VIEWS))
    await connection.run(`CREATE VIEW ${name} AS ${sql((table) => table)}`);
  return {
    ask: async (sql) => connection.rows(sql),
    close() {
      connection.close();
      database.close();
    },
  };
}

/** What the bar asks of one market: the ring found, and the odd reporters at the head of their views. */
export async function readHeads(rows: FindingRows) {
  const first = async (order: string) =>
    (
      await rows.ask(`SELECT reporter FROM reporter_severity ORDER BY deviation ${order} LIMIT 3`)
    ).map(([reporter]) => String(reporter));
  return {
    ring: (await rows.ask("SELECT agent FROM rings ORDER BY agent")).map(([agent]) =>
      String(agent),
    ),
    lenient: await first("ASC"),
    harsh: await first("DESC"),
  };
}
