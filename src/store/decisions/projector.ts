// Projects decision segments and kept rows into the database, and stores its progress there: one row
// for each step, committed with the rows that it inserted; the newest of a name counts. It only reads
// files and writes rows, so any process can build the same rows; a rebuilt database starts from zero.
import type { JournalFollower } from "../journal-follower.ts";
import { appendRows, appendValues, type Connection } from "../duckdb.ts";
import type { KeptFile } from "../kept-rows.ts";
import { appendLatencies, type LatencyCount } from "../rows/latencies.ts";
import { inTransaction } from "../rows/outcomes.ts";
import { type DecisionColumns, createDecisionColumns, decodeRecordsInto } from "./ring-reader.ts";
import { appendCounts, type DecisionCount } from "./counts.ts";
import { appendDecisions } from "./table.ts";
import {
  listSegmentCopies,
  listSegments,
  readSegmentBlocks,
  type DecisionSegment,
} from "./segments.ts";

export interface ProjectionProgress {
  /** Bytes of a segment that are rows, by its name. */
  readonly bytesByName: Map<string, number>;
  /** Names of segments and files of which everything is there. */
  readonly doneNames: Set<string>;
}

async function readProjectionProgress(connection: Connection): Promise<ProjectionProgress> {
  const rows = await connection.rows(
    "SELECT file, max(bytes), bool_or(is_done) FROM spool_taken GROUP BY file",
  );
  const taken: ProjectionProgress = { bytesByName: new Map(), doneNames: new Set() };
  for (const [file, bytes, isDone] of rows as [string, number, boolean][]) {
    taken.bytesByName.set(file, bytes);
    if (isDone) taken.doneNames.add(file);
  }
  return taken;
}

/** Records a step, inside the transaction of its rows. */
export async function recordProjectionProgress(
  connection: Connection,
  name: string,
  bytes: number,
  isDone: boolean,
): Promise<void> {
  const values = `($1::VARCHAR, ${bytes}, ${isDone})`;
  await connection.rows(`INSERT INTO spool_taken VALUES ${values}`, [name]);
}

/** Leaves one row for each name that still exists, inside the open transaction. */
export async function compactProjectionProgress(
  connection: Connection,
  isThere: (name: string) => boolean,
): Promise<void> {
  const { bytesByName, doneNames } = await readProjectionProgress(connection);
  await connection.run("DELETE FROM spool_taken");
  const kept = [...bytesByName].filter(([name]) => isThere(name));
  await appendRows(connection, "spool_taken", kept, (appender, [name, count]) =>
    appendValues(appender, name, BigInt(count), doneNames.has(name)),
  );
}

type RestorableFile = { kept: KeptFile } | { segment: DecisionSegment };

interface ProjectionStep {
  /** Byte of the segment up to which its rows are committed. */
  readonly toByte: number;
  /** Time of the oldest decision among the new rows, epoch ms; Infinity without one. */
  readonly oldestMs: number;
}

export class DecisionProjector {
  /** Records and blocks that were met and could not be read. */
  damagedCount = 0;
  progress: ProjectionProgress = { bytesByName: new Map(), doneNames: new Set() };
  readonly #core: JournalFollower;
  readonly #directory: string;
  readonly #node: string;
  readonly #log: (event: string, detail: string) => void;
  /** Of the database that `progress` was read from. */
  #generation = -1;
  #missingFiles: RestorableFile[] = [];
  /** Decisions before this time (epoch ms) are in the daily counts. */
  #countedBeforeMs = 0;

  /** `node`: of this process's own decisions; empty where there is no cluster. */
  constructor(
    core: JournalFollower,
    directory: string,
    node: string,
    log: (event: string, detail: string) => void = () => undefined,
  ) {
    this.#core = core;
    this.#directory = directory;
    this.#node = node;
    this.#log = log;
  }

  /** Whether another database has been opened since `load`. */
  get isStale(): boolean {
    return this.#generation !== this.#core.generation;
  }

  /** Files still to be ingested again: above 0 only while a database is being rebuilt. */
  get restoringCount(): number {
    return this.#missingFiles.length;
  }

  /** Reads what the database has, and finds what it lacks. Call it in the writer's turn. */
  async loadProgress(writer: Connection): Promise<void> {
    this.progress = await readProjectionProgress(writer);
    this.#generation = this.#core.generation;
    const kept = this.#core.keptRows.list();
    this.#countedBeforeMs = kept.findLast(({ kind }) => kind === "days")?.number ?? 0;
    const newestDays = kept.findLast(({ kind }) => kind === "days")?.name;
    const files = kept.filter(({ kind, name }) => kind !== "days" || name === newestDays);
    const found = [...listSegments(this.#directory), ...listSegmentCopies(this.#directory)];
    const segments = found.filter(({ isCompressed }) => isCompressed);
    const { doneNames } = this.progress;
    this.#missingFiles = [
      ...files.filter(({ name }) => !doneNames.has(name)).map((file) => ({ kept: file })),
      ...segments.filter(({ name }) => !doneNames.has(name)).map((segment) => ({ segment })),
    ];
  }

  /** Takes one missing file. Call it in the writer's turn, after `load`. */
  async restoreNextFile(writer: Connection): Promise<void> {
    const [next] = this.#missingFiles;
    if (next === undefined) return;
    if ("segment" in next) {
      const { segment } = next;
      const from = this.progress.bytesByName.get(segment.name) ?? 0;
      await this.projectSegment(writer, segment, from, undefined);
    } else {
      const { kept } = next;
      const condition = kept.kind === "rows" ? `evaluated_ms >= ${this.#countedBeforeMs}` : "true";
      await inTransaction(writer, async () => {
        await this.#core.keptRows.restore(writer, kept, condition);
        await recordProjectionProgress(writer, kept.name, 0, true);
      });
      this.progress.doneNames.add(kept.name);
    }
    this.#missingFiles.shift();
  }

  /**
   * Commits the rows of a segment from byte `from` on. `size`: its bytes when nothing more will come,
   * so that a torn end is passed over; undefined: as far as its blocks are whole.
   */
  async projectSegment(
    writer: Connection,
    segment: DecisionSegment,
    from: number,
    size: number | undefined,
  ): Promise<ProjectionStep> {
    const columns = createDecisionColumns();
    let counts: readonly DecisionCount[] = [];
    let latencies: readonly LatencyCount[] = [];
    let damagedCount = 0;
    let to = size ?? from;
    try {
      const blocks = readSegmentBlocks(this.#directory, segment, from);
      for (const records of blocks.records) damagedCount += decodeRecordsInto(columns, records);
      ({ counts, latencies } = blocks);
      damagedCount += blocks.damagedCount;
      to = size ?? from + blocks.end;
    } catch (error) {
      // A compressed segment that is damaged gives nothing; the others do.
      if (!segment.isCompressed) throw error;
      damagedCount += 1;
      this.#log("decision_segment_damaged", `${segment.file}: ${String(error)}`);
    }
    // A copy may wait for long: its node may not come back to end it.
    const isOld = segment.isCompressed || segment.node !== "";
    if (from === 0 && isOld) {
      dropCountedDecisions(columns, this.#countedBeforeMs);
      const isKept = ({ minuteMs }: { minuteMs: number }) => minuteMs >= this.#countedBeforeMs;
      counts = counts.filter(isKept);
      latencies = latencies.filter(isKept);
    }
    const isDone = segment.isCompressed;
    await inTransaction(writer, async () => {
      const node = segment.node || this.#node;
      await appendDecisions(writer, columns, node);
      await appendCounts(writer, counts);
      await appendLatencies(writer, latencies, node);
      await recordProjectionProgress(writer, segment.name, to, isDone);
    });
    this.progress.bytesByName.set(segment.name, to);
    if (isDone) this.progress.doneNames.add(segment.name);
    this.#recordDamage(segment, damagedCount);
    const minutes = [...counts, ...latencies].map(({ minuteMs }) => minuteMs);
    const times = [...(columns.numbers[0] as number[]), ...minutes];
    return {
      toByte: to,
      oldestMs: times.reduce((oldest, each) => Math.min(oldest, each), Infinity),
    };
  }

  #recordDamage({ file }: DecisionSegment, damagedCount: number): void {
    if (damagedCount === 0) return;
    this.damagedCount += damagedCount;
    const detail = `${damagedCount} records or blocks of ${file} could not be read`;
    this.#log("decision_records_damaged", detail);
  }
}

/** Leaves out decisions that the daily counts hold. */
function dropCountedDecisions(columns: DecisionColumns, countedMs: number): void {
  const times = columns.numbers[0] as number[];
  if (times.every((timeMs) => timeMs >= countedMs)) return;
  const isLeft = times.map((timeMs) => timeMs >= countedMs);
  const filter = <T>(values: T[]) => values.filter((_, index) => isLeft[index]);
  columns.indexes = columns.indexes.map(filter);
  columns.numbers = columns.numbers.map(filter);
  columns.texts = columns.texts.map(filter);
  columns.sessions = filter(columns.sessions);
  columns.counts = filter(columns.counts);
  columns.traceIds = filter(columns.traceIds);
  columns.count = isLeft.filter(Boolean).length;
}
