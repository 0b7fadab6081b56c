// Look-up of the records under a signed id. The id carries the time it was made at, and nothing is
// recorded long before or after: block statistics leave a few days of rows to look at, no index.
import { OUTCOME_AGE_MS_MAX, OUTCOME_SKEW_MS_MAX } from "../../contract/limits.ts";
import type { SignedOutcomeEntry, SignedId, SignedRecords } from "../../contract/signed-records.ts";
import type { Connection, RowValues } from "../duckdb.ts";
import { quoteLiteral } from "../view.ts";

const DAY_MS = 86_400_000;

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
