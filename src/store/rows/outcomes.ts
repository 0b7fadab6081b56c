// Applies one journal batch to the outcome store: rows and journal position in one transaction, so
// that a crash leaves either both or neither. Expired outcomes are counted, not kept: a rebuild
// brings none of them back.
import { DAY_MS } from "../../contract/units.ts";
import { decodeAgentKey, extractKeyNamespace } from "../../contract/identifiers.ts";
import {
  digestSignedBody,
  type SignedOutcomeEntry,
  type SignedId,
  type SignedRecords,
} from "../../contract/signed-records.ts";
import { VOICE_FIRST_PARTY, VOICE_REPORTER } from "../../contract/voices.ts";
import { GRADES, type EvidenceKind } from "../../contract/vocabulary.ts";
import {
  FRAME_KINDS,
  readFrameChecksum,
  readFrameKind,
  readPayloadLength,
} from "../../journal/format.ts";
import type { CountedShareReader } from "../../journal/counted-shares.ts";
import { decodeOutcome, readOutcomeRecordedAtMs } from "../../journal/outcome.ts";
import { computeWeighedGrade } from "../../journal/folded-outcome.ts";
import type { JournalReader } from "../../journal/reader.ts";
import type { RecordVisitor } from "../../journal/scan.ts";
import { readNumber, type Connection, type RowAppender, type RowValues } from "../duckdb.ts";
import { type RecordDescriber, JournalRowBatch } from "./journal.ts";
import { CITED_SOURCE_TABLE } from "./events.ts";
import { buildDayCountsSql } from "./outcome-views.ts";
import { SCHEMA_VERSION } from "../schema.ts";
import { OUTCOME_AGE_MS_MAX, OUTCOME_SKEW_MS_MAX } from "../../contract/limits.ts";
import { quoteLiteral } from "../view.ts";

type OutcomeRecord = ReturnType<typeof decodeOutcome>;
type OutcomeProof = NonNullable<OutcomeRecord["proof"]>;

/** Applied position of the store: the last row of `applied`. */
export interface AppliedPosition {
  lsn: number;
  outcomeCount: number;
  /** Number of those outcomes that only the daily counts still hold. */
  expiredCount: number;
  /**
   * Checksum of the record at `lsn`: distinguishes this journal from another of the same length.
   */
  recordCrc: number;
  node: string;
  epoch: number;
}

export const NOTHING_APPLIED: AppliedPosition = {
  lsn: 0,
  outcomeCount: 0,
  expiredCount: 0,
  recordCrc: 0,
  node: "",
  epoch: 0,
};

/** Bytes of records after which a transaction takes no more, looked at every so many records. */
const APPLY_BYTES_MAX = 16 * 1024 * 1024;
const RECORDS_PER_READ = 100;

/** Table that counts expired outcomes of a batch; of the writer's connection alone. */
const EXPIRED_TABLE = "expired_rows";

/** Must run once on the connection that applies, after the schema is there. */
export async function createExpiredTable(connection: Connection): Promise<void> {
  await connection.run(`CREATE TEMP TABLE ${EXPIRED_TABLE} AS FROM outcome_rows LIMIT 0`);
}

interface ApplyOptions {
  uptoLsn: number;
  /** Records of one transaction. */
  countMax: number;
  /** Outcomes recorded before (epoch ms) have expired. */
  cutoffMs: number;
  /** The same for provenance reported after the fact. */
  provenanceCutoffMs: number;
  describe: RecordDescriber;
  /** Shares that the caps of incidents left; left out: every record counted in full. */
  shares?: Pick<CountedShareReader, "readRange"> | undefined;
}

/**
 * Applies up to `countMax` records after `applied`, none beyond `uptoLsn`.
 * @returns the new position.
 * @throws the error of the failed step, after a rollback of the transaction.
 */
export function applyRecords(
  connection: Connection,
  reader: JournalReader,
  applied: AppliedPosition,
  options: ApplyOptions,
): Promise<AppliedPosition> {
  return inTransaction(connection, async () => {
    const next = { ...applied };
    const others = new JournalRowBatch(options.describe, options.provenanceCutoffMs);
    const expired: [record: OutcomeRecord, lsn: number][] = [];
    await connection.append("outcome_rows", (appender) => {
      let lastLsn = 0;
      let byteCount = 0;
      const { uptoLsn, countMax, cutoffMs } = options;
      const lastOfAll = applied.lsn + countMax;
      const shares = options.shares?.readRange(applied.lsn, Math.min(uptoLsn, lastOfAll));
      const take: RecordVisitor = (bytes, at, lsn) => {
        lastLsn = lsn;
        byteCount += readPayloadLength(bytes, at);
        next.recordCrc = readFrameChecksum(bytes, at);
        if (readFrameKind(bytes, at) !== FRAME_KINDS.outcome) {
          others.add(bytes, at, lsn);
          return;
        }
        next.outcomeCount++;
        const record = decodeOutcome(bytes, at);
        if (readOutcomeRecordedAtMs(bytes, at) < cutoffMs) expired.push([record, lsn]);
        else appendOutcome(appender, record, lsn, shares?.get(lsn));
      };
      while (next.lsn < Math.min(uptoLsn, lastOfAll) && byteCount < APPLY_BYTES_MAX) {
        const left = Math.min(RECORDS_PER_READ, lastOfAll - next.lsn);
        next.lsn = reader.readRecords(next.lsn, uptoLsn, left, take);
      }
      // A position that repair declared lost has no record to compare with.
      if (lastLsn !== next.lsn) next.recordCrc = 0;
    });
    await others.append(connection);
    if (expired.length > 0) await countExpiredOutcomes(connection, expired);
    next.expiredCount += expired.length;
    next.node = reader.header?.nodeId.toString("hex") ?? "";
    next.epoch = reader.header?.epoch ?? 0;
    await insertAppliedPosition(connection, next);
    return next;
  });
}

async function countExpiredOutcomes(
  connection: Connection,
  expired: readonly [record: OutcomeRecord, lsn: number][],
): Promise<void> {
  await connection.append(EXPIRED_TABLE, (appender) => {
    for (const [record, lsn] of expired) appendOutcome(appender, record, lsn);
  });
  await connection.run(`INSERT INTO agent_day_rows ${buildDayCountsSql(EXPIRED_TABLE)}`);
  await connection.run(`DELETE FROM ${EXPIRED_TABLE}`);
}

/**
 * Turns outcomes recorded before `cutoffMs` (a midnight) into daily counts and removes their rows;
 * positions passed long ago are forgotten with them.
 * @returns the new state, the same object when nothing has expired.
 */
export async function expireOutcomes(
  connection: Connection,
  applied: AppliedPosition,
  cutoffMs: number,
): Promise<AppliedPosition> {
  const before = `recorded_at < epoch_ms(CAST(${cutoffMs} AS BIGINT))`;
  const count = await readNumber(connection, `SELECT count(*) FROM outcome_rows WHERE ${before}`);
  if (count === 0) return applied;
  const next = { ...applied, expiredCount: applied.expiredCount + count };
  await inTransaction(connection, async () => {
    await connection.run(
      `INSERT INTO agent_day_rows ${buildDayCountsSql(`(FROM outcome_rows WHERE ${before})`)}`,
    );
    await connection.run(`DELETE FROM outcome_rows WHERE ${before}`);
    await connection.run("DELETE FROM applied");
    await insertAppliedPosition(connection, next);
  });
  return next;
}

function insertAppliedPosition(connection: Connection, applied: AppliedPosition): Promise<void> {
  const { node, epoch, lsn, outcomeCount, expiredCount, recordCrc } = applied;
  return connection.run(
    `INSERT INTO applied VALUES ('${node}', ${epoch}, ${lsn}, ${outcomeCount}, ${expiredCount},
      ${recordCrc}, ${SCHEMA_VERSION})`,
  );
}

/** Runs `run` in a transaction: all of it, or nothing and its error. */
export async function inTransaction<T>(connection: Connection, run: () => Promise<T>): Promise<T> {
  await connection.run("BEGIN TRANSACTION");
  try {
    const result = await run();
    await connection.run("COMMIT");
    return result;
  } catch (error) {
    // The first error is the one to report; a failed rollback only means the instance is gone.
    await connection.run("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** The order of values is that of OUTCOME_COLUMNS. */
function appendOutcome(
  appender: RowAppender,
  record: OutcomeRecord,
  lsn: number,
  countedShare = 1,
): void {
  appender.appendBigInt(BigInt(lsn));
  appender.appendVarchar(record.outcomeId);
  appendAgent(appender, record.subject);
  appendAgent(appender, record.reporter);
  appender.appendUTinyInt(record.outcome);
  appender.appendDouble(record.reportedStakes ?? record.stakes);
  appender.appendVarchar(selectWeighedGrade(record));
  appender.appendVarchar(record.signature);
  appender.appendInstant(record.settledAtMs);
  appender.appendInstant(record.recordedAtMs);
  appender.appendBoolean(record.isAgentFault);
  appender.appendVarchar(record.tenant);
  appender.appendVarchar(record.action);
  appender.appendVarchar(record.requestId);
  appender.appendVarchar(record.source);
  appendProof(appender, record.proof, record.body);
  if (record.incidentId === undefined) appender.appendNull();
  else appender.appendVarchar(record.incidentId);
  appender.appendDouble(record.stakes);
  appender.appendDouble(countedShare);
  appender.appendVarchar(selectSigner(record));
  appender.appendVarchar(GRADES[record.claimedGradeIndex ?? record.gradeIndex] ?? "");
  if (record.attestation === undefined) {
    appender.appendNull();
    appender.appendNull();
  } else {
    appender.appendVarchar(record.attestation.attester);
    appender.appendVarchar(record.attestation.transactionId);
  }
  appender.endRow();
}

function selectWeighedGrade(record: OutcomeRecord): string {
  const { gradeIndex, isFirstParty, voice, signerVoice = VOICE_REPORTER } = record;
  const answering = isFirstParty === true ? VOICE_FIRST_PARTY : (voice ?? signerVoice);
  return GRADES[computeWeighedGrade(gradeIndex, answering)] ?? "";
}

/** Who signed an outcome; the operator's import is signed as `bureau`, also where it is a tenant's own report. */
function selectSigner(record: OutcomeRecord): EvidenceKind | "none" {
  const { signature, isFirstParty, signerVoice } = record;
  if (signature === "reporter") return "reporter";
  if (signature === "bureau") return signerVoice === undefined ? "import" : "none";
  return isFirstParty === true ? "bureau" : "none";
}

function appendProof(
  appender: RowAppender,
  proof: OutcomeProof | undefined,
  body: Uint8Array,
): void {
  if (proof === undefined) {
    for (let column = 0; column < PROOF_COLUMN_COUNT; column++) appender.appendNull();
    return;
  }
  appender.appendVarchar(proof.kid);
  appender.appendVarchar(proof.jti);
  if (proof.kind === "batch") {
    appender.appendVarchar(proof.evidenceId);
    appender.appendInteger(proof.index);
    appender.appendNull();
  } else {
    appender.appendNull();
    appender.appendNull();
    appender.appendVarchar(digestSignedBody(body));
  }
}

/** kid, jti, evidence_id, evidence_index, body_digest. */
const PROOF_COLUMN_COUNT = 5;

/** An agent as the wire names it, and its namespace; `key` is its name in the journal. */
function appendAgent(appender: RowAppender, key: string): void {
  appender.appendVarchar(decodeAgentKey(key));
  const namespace = extractKeyNamespace(key);
  if (namespace === undefined) appender.appendNull();
  else appender.appendVarchar(namespace);
}

/** Removes provenance recorded before `cutoffMs`. @returns whether there was any. */
export async function expireProvenance(connection: Connection, cutoffMs: number): Promise<boolean> {
  const before = `recorded_at < epoch_ms(CAST(${cutoffMs} AS BIGINT))`;
  const expired = `FROM provenance_rows WHERE ${before}`;
  if ((await readNumber(connection, `SELECT count(*) ${expired}`)) === 0) return false;
  await inTransaction(connection, async () => {
    await connection.run(
      `DELETE FROM ${CITED_SOURCE_TABLE} WHERE position IN (SELECT position ${expired})`,
    );
    await connection.run(`DELETE ${expired}`);
  });
  return true;
}

/**
 * True when the journal's record at the applied position is the one that was applied; at an earlier
 * position `at`, when it is of the same bureau.
 */
export function isSameJournal(
  reader: JournalReader,
  applied: AppliedPosition,
  at: number,
): boolean {
  if (applied.lsn === 0) return true;
  let crc = 0;
  reader.readRecords(at - 1, at, 1, (bytes, frame) => {
    crc = readFrameChecksum(bytes, frame);
  });
  const isSameRecord = at !== applied.lsn || crc === applied.recordCrc;
  return isSameRecord && reader.header?.nodeId.toString("hex") === applied.node;
}

/**
 * Reads the position and checks that rows and position agree.
 * @returns undefined when they do not: the database was cut short or is not ours.
 */
export async function readAppliedPosition(
  connection: Connection,
): Promise<AppliedPosition | undefined> {
  const versions = await connection.rows("SELECT DISTINCT schema_version FROM applied");
  if (versions.some(([version]) => version !== SCHEMA_VERSION)) {
    throw new Error(`its schema is ${versions.join(", ")}, not ${SCHEMA_VERSION}`);
  }
  const [last] = await connection.rows(
    `SELECT node, epoch, lsn, outcome_count, expired_count, record_crc FROM applied
     ORDER BY lsn DESC, expired_count DESC LIMIT 1`,
  );
  const [rows] = await connection.rows(
    "SELECT count(*), coalesce(max(position), 0) FROM outcome_rows",
  );
  const [count, positionMax] = rows as [number, number];
  if (last === undefined) return count === 0 ? NOTHING_APPLIED : undefined;
  const [node, ...numbers] = last as [string, number, number, number, number, number];
  const [epoch, lsn, outcomeCount, expiredCount, recordCrc] = numbers;
  const isWhole = count === outcomeCount - expiredCount && positionMax <= lsn;
  return isWhole ? { node, epoch, lsn, outcomeCount, expiredCount, recordCrc } : undefined;
}

/** Searches all applied records; a caller that needs more waits for it first. */
export async function findSignedRecords(
  connection: Connection,
  { kid, jti, jtiMs }: SignedId,
): Promise<SignedRecords> {
  const from = Math.floor(jtiMs - OUTCOME_SKEW_MS_MAX);
  const to = Math.ceil(jtiMs + OUTCOME_AGE_MS_MAX + DAY_MS);
  // As constants, not as parameters: those are not compared with block statistics.
  const condition = `jti = UUID ${quoteLiteral(jti)} AND kid = ${quoteLiteral(kid)}
    AND recorded_at BETWEEN epoch_ms(${from}) AND epoch_ms(${to})`;
  const outcomes = await connection.rows(
    `SELECT outcome_id, position, epoch_ms(recorded_at), evidence_index, body_digest
     FROM outcome_rows WHERE ${condition} ORDER BY position`,
  );
  const [batch] = await connection.rows(
    `SELECT evidence_id, position, body_digest
     FROM batch_rows WHERE ${condition} ORDER BY position`,
  );
  const alone = outcomes.find(([, , , index]) => index === null);
  if (alone !== undefined) {
    return { alone: { ...parseRecordedOutcome(alone), bodyDigest: String(alone[4]) } };
  }
  if (batch === undefined) return {};
  const rows = new Map(outcomes.map((row) => [Number(row[3]), parseRecordedOutcome(row)]));
  const [evidenceId, position, digest] = batch;
  const known = { evidenceId: String(evidenceId), position: Number(position) };
  return { batch: { ...known, bodyDigest: String(digest), rows } };
}

function parseRecordedOutcome([id, position, recordedAtMs]: RowValues): SignedOutcomeEntry {
  return {
    outcomeId: String(id),
    position: Number(position),
    recordedAtMs: Number(recordedAtMs),
  };
}
