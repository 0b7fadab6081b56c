// Side of the process that runs callers' SQL: a copy of the store's database, the rows that are added
// to it, and the same queries as in the store itself. It may be killed at any moment; nothing in it is
// needed.
import * as fs from "node:fs";
import { join } from "node:path";
import { ServiceFault } from "../../contract/faults.ts";
import { isMemoryLimited } from "../../platform/limited-process.ts";
import { DatabaseConnections } from "../database.ts";
import { DATABASE_FILE, WAL_FILE } from "../files.ts";
import { type QueryTimeLimit, runQuery } from "../query/query.ts";
import { RowStreams, STREAM_WORK_MS } from "../query/row-streams.ts";
import { inTransaction } from "../rows/outcomes.ts";
import { computeFreeBytes, prepareSpillDirectory } from "../spill.ts";
import type { QueryResult } from "../store.ts";
import { quoteLiteral } from "../view.ts";
import type {
  MessageFromSandbox,
  SandboxCall,
  TableRowsFile,
  MessageToSandbox,
} from "./process.ts";
import { encodeFault } from "../../contract/encoded-fault.ts";

const MEBIBYTE = 1024 * 1024;
/** DuckDB's own share of the limit. Less than this has left it unable to replay its own log. */
const DATABASE_MEGABYTES_MIN = 512;

type OpenCopyCall = Extract<SandboxCall, { name: "open" }>;
type QueryCall = Extract<SandboxCall, { name: "query" }>;

/** The store thread knows as of when the rows are. */
const NO_CLOCK = () => 0;

export class SandboxServer {
  readonly #send: (message: MessageFromSandbox) => void;
  readonly #streams: RowStreams;
  /** Queries that run and have a name. */
  readonly #running = new Map<string, QueryTimeLimit>();
  #connections: DatabaseConnections | undefined;
  /** Of files that are made of answers. */
  #answersDirectory = "";
  #answerCount = 0;

  constructor(send: (message: MessageFromSandbox) => void) {
    this.#send = send;
    const connect = async () => this.#openedConnections.openAnother();
    const suspect = (error: Error) => send({ kind: "broken", detail: error.message });
    this.#streams = new RowStreams(connect, suspect, NO_CLOCK);
  }

  /** Answers every call exactly once; never rejects. */
  async answerCall({ id, call }: MessageToSandbox): Promise<void> {
    try {
      this.#send({ kind: "answer", id, result: await this.#perform(call) });
    } catch (error) {
      this.#send({ kind: "refusal", id, fault: encodeFault(this.#convertError(error, call)) });
    }
  }

  /** A caller never reads a message of ours: it may name paths. */
  #convertError(error: unknown, call: SandboxCall): ServiceFault {
    if (error instanceof ServiceFault) return error;
    const detail = error instanceof Error ? error.message : String(error);
    if (call.name === "open" || call.name === "add") {
      return new ServiceFault("store_unavailable", detail);
    }
    this.#send({ kind: "broken", detail });
    return new ServiceFault("store_unavailable", "the outcome store does not answer");
  }

  get #openedConnections(): DatabaseConnections {
    if (this.#connections === undefined) throw new Error("nothing is open yet");
    return this.#connections;
  }

  async #perform(call: SandboxCall): Promise<unknown> {
    const streams = this.#streams;
    if (call.name === "open") return this.#open(call);
    if (call.name === "add") return this.#addRows(call.parts);
    if (call.name === "query") return this.#query(call);
    if (call.name === "cancelQuery") return this.#running.get(call.handle)?.cancel();
    if (call.name === "openStream") {
      return streams.open(call, call.workMs ?? STREAM_WORK_MS, call.asker);
    }
    if (call.name === "nextPart") return streams.next(call.stream);
    return streams.close(call.stream);
  }

  /** Several run at a time, each on a connection and a thread of its own. */
  async #query({ handle = "", form, ...call }: QueryCall): Promise<QueryResult> {
    const own = await this.#openedConnections.openAnother();
    const onWatch = (watch: QueryTimeLimit) => {
      if (handle !== "") this.#running.set(handle, watch);
    };
    try {
      const { limits, asker } = call;
      const parquetPath = form === "parquet" ? this.#nameAnswerFile() : undefined;
      return await runQuery(own, call, { limits, asker, clock: NO_CLOCK, parquetPath, onWatch });
    } finally {
      this.#running.delete(handle);
      own.close();
    }
  }

  #nameAnswerFile(): string {
    return join(this.#answersDirectory, `${this.#answerCount++}.parquet`);
  }

  async #open(opening: OpenCopyCall): Promise<void> {
    const { copyFrom, directory, partsDirectory, timeZone, memoryBytes } = opening;
    if (!isMemoryLimited(memoryBytes)) {
      throw new Error("no limit on its memory can be set here, so it does not start");
    }
    if (copyFrom !== undefined) copyDatabase(copyFrom, directory);
    // What a killed process has left there goes.
    this.#answersDirectory = join(partsDirectory, "answers");
    fs.rmSync(this.#answersDirectory, { recursive: true, force: true });
    const path = join(directory, DATABASE_FILE);
    // DuckDB would make an empty one.
    if (!fs.existsSync(path)) throw new Error("there is no copy of the database");
    this.#connections = await DatabaseConnections.open(path, {
      memoryMegabytes: Math.max(DATABASE_MEGABYTES_MIN, memoryBytes / 2 / MEBIBYTE),
      exportDirectory: partsDirectory,
      timeZone,
      spill: prepareSpillDirectory(directory, memoryBytes),
    });
  }

  async #addRows(parts: readonly TableRowsFile[]): Promise<void> {
    const { writer } = this.#openedConnections;
    await inTransaction(writer, async () => {
      for (const { table, path, isWhole } of parts) {
        if (isWhole) await writer.run(`DELETE FROM ${table}`);
        await writer.run(`INSERT INTO ${table} FROM read_parquet(${quoteLiteral(path)})`);
      }
    });
    // No log that deletes is left for the next process to replay. A running query refuses it.
    if (parts.some(({ isWhole }) => isWhole)) {
      await writer.run("CHECKPOINT").catch(() => undefined);
    }
  }
}

/**
 * Copies the files of a database to which nobody writes meanwhile. Another process has to do this: to
 * close one of these files drops all locks that the closing process holds on it.
 */
function copyDatabase(from: string, to: string): void {
  fs.rmSync(to, { recursive: true, force: true });
  fs.mkdirSync(to, { recursive: true, mode: 0o700 });
  const names = [DATABASE_FILE, WAL_FILE].filter((name) => fs.existsSync(join(from, name)));
  const bytes = names.reduce((sum, name) => sum + fs.statSync(join(from, name)).size, 0);
  if (computeFreeBytes(to) < bytes) {
    throw new Error(`the disk has no room for a copy of ${Math.ceil(bytes / MEBIBYTE)} MiB`);
  }
  for (const name of names) {
    fs.copyFileSync(join(from, name), join(to, name), fs.constants.COPYFILE_FICLONE);
  }
}
