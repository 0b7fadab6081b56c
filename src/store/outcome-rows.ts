// One journal batch into the outcome store: rows and journal position in one transaction, so that
// a crash leaves either both or neither.
import { GRADES } from "../contract/vocabulary.ts";
import { FRAME_KINDS, frameChecksum, frameKind } from "../ledger/journal-format.ts";
import { decodeOutcome } from "../ledger/journal-outcome.ts";
import type { JournalReader } from "../ledger/journal-reader.ts";
import type { Connection, RowAppender } from "./duckdb.ts";
import { SCHEMA_VERSION } from "./schema.ts";

/** How far the store is: the last row of `applied`. */
export interface Applied {
  lsn: number;
  outcomeCount: number;
  /** Checksum of the record at `lsn`: tells this journal from another of the same length. */
  recordCrc: number;
  node: string;
}

export const NOTHING_APPLIED: Applied = { lsn: 0, outcomeCount: 0, recordCrc: 0, node: "" };

/**
 * Applies up to `countMax` records behind `applied`, none beyond `uptoLsn`.
 * @returns the new position. On an error the transaction is rolled back and the error thrown.
 */
export async function applyRecords(
  connection: Connection,
  reader: JournalReader,
  applied: Applied,
  uptoLsn: number,
  countMax: number,
): Promise<Applied> {
  await connection.run("BEGIN TRANSACTION");
  try {
    const next = { ...applied };
    await connection.append("outcome_rows", (appender) => {
      let lastLsn = 0;
      next.lsn = reader.read(applied.lsn, uptoLsn, countMax, (bytes, at, lsn) => {
        lastLsn = lsn;
        next.recordCrc = frameChecksum(bytes, at);
        if (frameKind(bytes, at) !== FRAME_KINDS.outcome) return;
        appendOutcome(appender, bytes, at, lsn);
        next.outcomeCount++;
      });
      // A position that repair declared lost has no record to tell by.
      if (lastLsn !== next.lsn) next.recordCrc = 0;
    });
    next.node = reader.header?.nodeId.toString("hex") ?? "";
    await connection.run(
      `INSERT INTO applied VALUES ('${next.node}', ${reader.header?.epoch ?? 0}, ${next.lsn},
        ${next.outcomeCount}, ${next.recordCrc}, ${SCHEMA_VERSION})`,
    );
    await connection.run("COMMIT");
    return next;
  } catch (error) {
    // The first error is the one to tell; a lost rollback only means the instance is gone.
    await connection.run("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** The order of values is that of OUTCOME_COLUMNS. */
function appendOutcome(appender: RowAppender, bytes: Buffer, at: number, lsn: number): void {
  const record = decodeOutcome(bytes, at);
  appender.appendBigInt(BigInt(lsn));
  appender.appendVarchar(record.outcomeId);
  appendAgent(appender, record.subject);
  appendAgent(appender, record.reporter);
  appender.appendUTinyInt(record.outcome);
  appender.appendDouble(record.stakes);
  appender.appendVarchar(GRADES[record.gradeIndex] ?? "");
  appender.appendVarchar(record.signature);
  appender.appendInstant(record.settledAtMs);
  appender.appendInstant(record.recordedAtMs);
  appender.appendBoolean(record.isAgentFault);
  appender.appendVarchar(record.tenant);
  appender.appendVarchar(record.action);
  appender.appendVarchar(record.requestId);
  appender.appendVarchar(record.source);
  appender.endRow();
}

const AGENT_PREFIX = "agent://";

function appendAgent(appender: RowAppender, agent: string): void {
  appender.appendVarchar(agent);
  const end = agent.indexOf("/", AGENT_PREFIX.length);
  if (agent.startsWith(AGENT_PREFIX) && end > 0) {
    appender.appendVarchar(agent.slice(AGENT_PREFIX.length, end));
  } else {
    appender.appendNull();
  }
}

/** True when the journal's record at the applied position is the one that was applied. */
export function isSameJournal(reader: JournalReader, applied: Applied): boolean {
  if (applied.lsn === 0) return true;
  let crc = 0;
  reader.read(applied.lsn - 1, applied.lsn, 1, (bytes, at) => {
    crc = frameChecksum(bytes, at);
  });
  return crc === applied.recordCrc && reader.header?.nodeId.toString("hex") === applied.node;
}

/**
 * Reads the position and checks that rows and position tell the same story.
 * @returns undefined when they do not: the database was cut short or is not ours.
 */
export async function readApplied(connection: Connection): Promise<Applied | undefined> {
  const [last] = await connection.rows(
    `SELECT node, lsn, outcome_count, record_crc, schema_version FROM applied
     ORDER BY lsn DESC LIMIT 1`,
  );
  const [rows] = await connection.rows(
    "SELECT count(*), coalesce(max(position), 0) FROM outcome_rows",
  );
  const [count, positionMax] = rows as [number, number];
  if (last === undefined) return count === 0 ? NOTHING_APPLIED : undefined;
  const [node, lsn, outcomeCount, recordCrc, version] = last as [
    string,
    number,
    number,
    number,
    number,
  ];
  const isWhole = version === SCHEMA_VERSION && count === outcomeCount && positionMax <= lsn;
  return isWhole ? { node, lsn, outcomeCount, recordCrc } : undefined;
}
