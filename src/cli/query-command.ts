// `trustrank query "SELECT ..."`: runs SQL over the outcome store, opened here or through the
// server; lines come as they are read, without a bound, every other form whole.
import type { QueryResult } from "../store/store.ts";
import { PAID_VIEWS, type QueryFormat } from "../contract/views.ts";
import { runOnFilesOrServer } from "./data-access.ts";
import type { DataAccess } from "./data-access.ts";
import { formatCsv } from "../platform/csv.ts";
import { withStoreOnFiles } from "./file-store.ts";
import {
  printNote,
  printJson,
  printPart,
  printText,
  printTable,
  type OutputFlags,
} from "./output.ts";
import type { ServerClient } from "./server-client.ts";
import { CommandFailure, EXIT_USAGE } from "../service/failure.ts";

const QUERY_LIMITS = { rowsMax: 100_000, timeoutMs: 60_000 };

type QueryRows = Pick<QueryResult, "columns" | "rows" | "isTruncated">;

interface ServerRows {
  columns: QueryResult["columns"];
  rows: unknown[][];
  is_truncated: boolean;
}

interface QueryStatement {
  readonly sql: string;
  readonly params: readonly string[];
}

/** Prints the rows; notes on stderr when the answer was cut. */
export async function runQuery(
  access: DataAccess,
  statement: QueryStatement,
  flags: OutputFlags & { format: QueryFormat },
): Promise<void> {
  const { sql, params } = statement;
  if (flags.json !== true && flags.format === "ndjson") return printLines(access, statement);
  if (flags.json !== true && flags.format === "parquet") return printParquet(access, statement);
  const result = await runOnFilesOrServer<QueryRows>(
    access,
    (dataDir) =>
      withStoreOnFiles(dataDir, mentionsCurrentScores(sql), (store) =>
        store.query(sql, QUERY_LIMITS, undefined, { params }),
      ),
    async (client) => {
      const { columns, rows, is_truncated } = await client.sendJson<ServerRows>(
        "POST",
        "/v1/query",
        { sql, params, format: "json" },
      );
      return { columns, rows, isTruncated: is_truncated };
    },
  );
  const names = result.columns.map((column) => column.name);
  if (flags.json === true || flags.format === "json") {
    printJson(result.rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]]))));
  } else if (flags.format === "csv") {
    printText(formatCsv(names, result.rows, "\n"));
  } else {
    printTable(names, result.rows);
  }
  if (result.isTruncated) printNote(`only the first ${result.rows.length} rows`);
}

/** Longest life of a stream of the service. */
const STREAM_MS_MAX = 15 * 60_000;

function printLines(access: DataAccess, { sql, params }: QueryStatement): Promise<void> {
  return runOnFilesOrServer(
    access,
    (dataDir) =>
      withStoreOnFiles(dataDir, mentionsCurrentScores(sql), async (store) => {
        const rows = await store.openStream(sql, undefined, { params });
        let isWanted = true;
        for (let part = await rows.next(); part !== undefined && isWanted; part = await rows.next())
          isWanted = await printPart(part);
        rows.cancel();
      }),
    async (client) => {
      const { body } = await openAnswer(client, { sql, params }, "application/x-ndjson");
      try {
        for await (const part of body!) if (!(await printPart(part))) break;
      } catch (error) {
        throw new CommandFailure(`the rows ended before the last one: ${(error as Error).message}`);
      }
    },
  );
}

/** @throws CommandFailure when the file would go to a terminal. */
async function printParquet(access: DataAccess, { sql, params }: QueryStatement): Promise<void> {
  if (process.stdout.isTTY) {
    throw new CommandFailure("Parquet is no text: put it into a file by `> FILE`", EXIT_USAGE);
  }
  const answer = await runOnFilesOrServer(
    access,
    (dataDir) =>
      withStoreOnFiles(dataDir, mentionsCurrentScores(sql), async (store) => {
        const options = { params, form: "parquet" } as const;
        const result = await store.query(sql, QUERY_LIMITS, undefined, options);
        return { bytes: result.parquet!, isCut: result.isTruncated };
      }),
    async (client) => {
      const response = await openAnswer(client, { sql, params }, "application/vnd.apache.parquet");
      const isCut = response.headers.get("x-is-truncated") === "true";
      return { bytes: new Uint8Array(await response.arrayBuffer()), isCut };
    },
  );
  await printPart(answer.bytes);
  if (answer.isCut) printNote("only the first rows: `--format ndjson` has no bound");
}

function openAnswer(client: ServerClient, statement: QueryStatement, accept: string) {
  const body = JSON.stringify(statement);
  const contentType = "application/json";
  const timeoutMs = STREAM_MS_MAX;
  return client.open({ method: "POST", path: "/v1/query", body, contentType, accept, timeoutMs });
}

/** Whether the query may look at current scores, for which the files have to be replayed. */
function mentionsCurrentScores(sql: string): boolean {
  return PAID_VIEWS.some((view) => new RegExp(`\\b${view}\\b`, "i").test(sql));
}
