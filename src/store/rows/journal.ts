// Rows of journal records other than outcomes: signed batches, sources of the vault, the records
// that auditors ask for (reporters' keys, promoted configs, reporters that contradict themselves),
// reporters' standings, and assessments of agents' texts.
import type { Assessment } from "../../contract/assessments.ts";
import { digestSignedBody } from "../../contract/signed-records.ts";
import { STANDING_BITS } from "../../contract/standings.ts";
import { decodeAssessment } from "../../journal/assessments.ts";
import { FRAME_KINDS, readFrameKind } from "../../journal/format.ts";
import { decodeStandings } from "../../journal/standings.ts";
import { decodeBatchEvidence } from "../../journal/proof.ts";
import type { Connection, RowAppender } from "../duckdb.ts";
import type { ViewDefinition } from "../view.ts";
import { ASSESSMENT_TABLE, ASSESSMENT_VIEW, writeAssessment } from "./assessments.ts";
import { appendNotes, type NoteRow } from "./notes.ts";
import { appendPolicy, type PolicyRow } from "./policies.ts";
import { appendReviewQueue, type ReviewCallRow, type ReviewEventRow } from "./review-queue.ts";
import type { UsageRow } from "../../contract/usage.ts";
import { UsageBatch } from "./usage.ts";

/** State of a source of the vault from this record on. */
export interface SourceRow {
  tenant: string;
  visibility: string;
  sourceId: string;
  kind: string;
  title: string;
  digest: string;
  bytes: number;
  status: string;
  registeredAtMs: number;
  registeredBy: string;
}

/** An audit event; `detail` is JSON. */
export interface AuditRow {
  event: string;
  tenant: string | null;
  agent: string | null;
  namespace: string | null;
  kid: string | null;
  recordedAtMs: number;
  detail: string;
}

export interface JournalRows {
  sources: SourceRow[];
  audits: AuditRow[];
  policies: PolicyRow[];
  notes: NoteRow[];
  usage: UsageRow[];
  reviewEvents: ReviewEventRow[];
  reviewCalls: ReviewCallRow[];
}

/**
 * Decodes a record other than an outcome into rows to add, none for records that are not shown. The
 * caller injects it, because the payloads belong to other folders (the vault, the reporters'
 * registry).
 */
export type RecordDescriber = (bytes: Buffer, at: number) => Partial<JournalRows>;

interface SignedBatchRow {
  evidenceId: string;
  kid: string;
  jti: string;
  recordedAtMs: number;
  bodyDigest: string;
}

/** An agent's standing in one credibility batch. */
interface StandingRow {
  agent: string;
  /** Null for a stranger. */
  credibility: number | null;
  isSeed: boolean;
  signs: boolean;
  isDiscounted: boolean;
  /** Null for none. */
  cluster: number | null;
}

type PositionedRow<Row> = Row & { position: number };

/** Gathers the rows of one transaction. */
export class JournalRowBatch {
  readonly #describe: RecordDescriber;
  readonly #signedBatches: PositionedRow<SignedBatchRow>[] = [];
  readonly #sources: PositionedRow<SourceRow>[] = [];
  readonly #audits: PositionedRow<AuditRow>[] = [];
  readonly #standings: PositionedRow<StandingRow>[] = [];
  readonly #assessments: PositionedRow<Assessment>[] = [];
  readonly #policies: PositionedRow<PolicyRow>[] = [];
  readonly #notes: PositionedRow<NoteRow>[] = [];
  readonly #usage = new UsageBatch();
  readonly #reviewEvents: PositionedRow<ReviewEventRow>[] = [];
  readonly #reviewCalls: PositionedRow<ReviewCallRow>[] = [];
  readonly #notesSinceMs: number;

  /** Provenance recorded before `notesSinceMs` (epoch ms) has expired: it is left out. */
  constructor(describe: RecordDescriber, notesSinceMs: number) {
    this.#describe = describe;
    this.#notesSinceMs = notesSinceMs;
  }

  /** Takes a record other than an outcome. */
  add(bytes: Buffer, at: number, position: number): void {
    const batch =
      readFrameKind(bytes, at) === FRAME_KINDS.evidence
        ? decodeBatchEvidence(bytes, at)
        : undefined;
    if (batch !== undefined) {
      const { evidenceId, kid, jti, recordedAtMs, body } = batch;
      const digest = digestSignedBody(body);
      this.#signedBatches.push({
        position,
        evidenceId,
        kid,
        jti,
        recordedAtMs,
        bodyDigest: digest,
      });
      return;
    }
    if (readFrameKind(bytes, at) === FRAME_KINDS.standings) {
      for (const row of decodeStandingRows(bytes, at)) this.#standings.push({ position, ...row });
      return;
    }
    if (readFrameKind(bytes, at) === FRAME_KINDS.assessment) {
      this.#assessments.push({ position, ...decodeAssessment(bytes, at) });
      return;
    }
    const described = this.#describe(bytes, at);
    const { sources = [], audits = [], policies = [], notes = [], usage = [] } = described;
    for (const row of described.reviewEvents ?? []) this.#reviewEvents.push({ position, ...row });
    for (const row of described.reviewCalls ?? []) this.#reviewCalls.push({ position, ...row });
    for (const row of sources) this.#sources.push({ position, ...row });
    for (const row of audits) this.#audits.push({ position, ...row });
    for (const row of policies) this.#policies.push({ position, ...row });
    for (const row of usage) this.#usage.add(row, position);
    for (const row of notes) if (!this.#hasExpired(row)) this.#notes.push({ position, ...row });
  }

  #hasExpired({ table, event, moved }: NoteRow): boolean {
    // A moved record is needed in any case: it takes the old row away.
    if (table !== "provenance" || moved !== undefined) return false;
    return event.recorded_at < this.#notesSinceMs;
  }

  /** Appends the gathered rows, inside the open transaction. */
  async append(connection: Connection): Promise<void> {
    await appendEach(connection, "batch_rows", this.#signedBatches, (appender, row) => {
      appender.appendBigInt(BigInt(row.position));
      appender.appendInstant(row.recordedAtMs);
      for (const text of [row.evidenceId, row.kid, row.jti, row.bodyDigest]) {
        appender.appendVarchar(text);
      }
    });
    await appendEach(connection, "source_rows", this.#sources, (appender, row) => {
      appender.appendBigInt(BigInt(row.position));
      appender.appendInstant(row.registeredAtMs);
      const { sourceId, tenant, visibility, kind, title, digest, status, registeredBy } = row;
      for (const text of [sourceId, tenant, visibility, kind, title, digest]) {
        appender.appendVarchar(text);
      }
      appender.appendBigInt(BigInt(row.bytes));
      appender.appendVarchar(status);
      appender.appendVarchar(registeredBy);
    });
    await appendEach(connection, "audit_rows", this.#audits, (appender, row) => {
      appender.appendBigInt(BigInt(row.position));
      appender.appendInstant(row.recordedAtMs);
      const { event, tenant, agent, namespace, kid, detail } = row;
      for (const text of [event, tenant, agent, namespace, kid, detail]) {
        if (text === null) appender.appendNull();
        else appender.appendVarchar(text);
      }
    });
    await appendEach(connection, "policy_rows", this.#policies, (appender, row) => {
      appendPolicy(appender, row, row.position);
    });
    await appendEach(connection, "standing_rows", this.#standings, (appender, row) => {
      appender.appendBigInt(BigInt(row.position));
      appender.appendVarchar(row.agent);
      if (row.credibility === null) appender.appendNull();
      else appender.appendDouble(row.credibility);
      for (const flag of [row.isSeed, row.signs, row.isDiscounted]) appender.appendBoolean(flag);
      if (row.cluster === null) appender.appendNull();
      else appender.appendBigInt(BigInt(row.cluster));
    });
    await appendEach(connection, "assessment_rows", this.#assessments, (appender, row) =>
      writeAssessment(appender, row.position, row),
    );
    await appendNotes(connection, this.#notes);
    await this.#usage.append(connection);
    await appendReviewQueue(connection, this.#reviewEvents, this.#reviewCalls);
  }
}

function decodeStandingRows(bytes: Buffer, at: number): StandingRow[] {
  return decodeStandings(bytes, at).agents.map(({ agent, flags, credibility, cluster }) => ({
    agent,
    credibility: (flags & STANDING_BITS.believed) === 0 ? null : credibility,
    isSeed: (flags & STANDING_BITS.seed) !== 0,
    signs: (flags & STANDING_BITS.signs) !== 0,
    isDiscounted: (flags & STANDING_BITS.discounted) !== 0,
    cluster: cluster === 0 ? null : cluster,
  }));
}

async function appendEach<Row>(
  connection: Connection,
  table: string,
  rows: readonly Row[],
  write: (appender: RowAppender, row: Row) => void,
): Promise<void> {
  if (rows.length === 0) return;
  await connection.append(table, (appender) => {
    for (const row of rows) {
      write(appender, row);
      appender.endRow();
    }
  });
}

/** In the order in which they are appended. */
export function buildJournalTableSql(): string[] {
  return [
    `CREATE TABLE batch_rows (position BIGINT NOT NULL, recorded_at TIMESTAMP NOT NULL,
      evidence_id UUID NOT NULL, kid VARCHAR NOT NULL, jti UUID NOT NULL,
      body_digest VARCHAR NOT NULL)`,
    `CREATE TABLE source_rows (position BIGINT NOT NULL, registered_at TIMESTAMP NOT NULL,
      source_id VARCHAR NOT NULL, tenant VARCHAR NOT NULL, visibility VARCHAR NOT NULL,
      kind VARCHAR NOT NULL, title VARCHAR NOT NULL, digest VARCHAR NOT NULL,
      bytes BIGINT NOT NULL, status VARCHAR NOT NULL, registered_by VARCHAR NOT NULL)`,
    `CREATE TABLE audit_rows (position BIGINT NOT NULL, recorded_at TIMESTAMP NOT NULL,
      event VARCHAR NOT NULL, tenant VARCHAR, agent VARCHAR, namespace VARCHAR, kid VARCHAR,
      detail JSON NOT NULL)`,
    `CREATE TABLE standing_rows (position BIGINT NOT NULL, agent VARCHAR NOT NULL,
      credibility DOUBLE, is_seed BOOLEAN NOT NULL, signs BOOLEAN NOT NULL,
      discounted BOOLEAN NOT NULL, cluster BIGINT)`,
    ASSESSMENT_TABLE,
  ];
}

export const JOURNAL_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  assessments: ASSESSMENT_VIEW,
  evidence_sources: {
    sql: (from) => `SELECT source_id, tenant, visibility, kind, nullif(title, '') AS title, digest,
        bytes, status, registered_at, registered_by, position
      FROM ${from("source_rows")} QUALIFY
        row_number() OVER (
          PARTITION BY if(visibility = 'public', '', tenant), source_id ORDER BY position DESC
        ) = 1`,
    comment: "sources that contents may cite, as they stand now",
    columns: [
      ["source_id", "id that contents cite"],
      ["tenant", "whose source it is"],
      ["visibility", "tenant, or public: every tenant may cite it"],
      ["kind", "what sort of source"],
      ["title", "title, or null"],
      ["digest", "SHA-256 of the text, hex"],
      ["bytes", "length of the text"],
      ["status", "active, or why it no longer verifies anything"],
      ["registered_at", "when it was first registered, UTC"],
      ["registered_by", "key that registered it"],
      ["position", "its newest record in the evidence journal"],
    ],
  },
  audit_events: {
    // Records signed by a key belong to the tenant that registered the key.
    sql: (from) => `SELECT a.recorded_at, a.position, a.event,
        coalesce(a.tenant, k.tenant) AS tenant, coalesce(a.detail->>'$.actor', a.detail->>'$.set_by') AS actor,
        coalesce(a.agent, k.agent) AS agent, a.kid, a.detail, a.detail->>'$.via' AS via
      FROM ${from("audit_rows")} AS a LEFT JOIN (
        SELECT kid, arg_min(tenant, position) AS tenant, arg_min(agent, position) AS agent
        FROM ${from("audit_rows")} WHERE event = 'reporter_key.registered' GROUP BY kid
      ) AS k USING (kid)
      UNION ALL BY NAME SELECT recorded_at, position, event, tenant, actor, detail,
        detail->>'$.via' AS via
      FROM ${from("audit_note_rows")}`,
    comment:
      "changes of keys and configs, refused access, damage found in the journal, and reporters " +
      "that signed two things under one id",
    columns: [
      ["recorded_at", "when the bureau recorded it, UTC"],
      ["position", "its record in the evidence journal; null until an older row has moved there"],
      [
        "event",
        "reporter_key.registered, reporter_key.revoked, namespace.granted, " +
          "namespace.transferred, namespace.revoked, signature.replayed, config.promoted, " +
          "api_key.created, api_key.changed, api_key.rotated, api_key.revoked, " +
          "bureau_key.rotated, access.denied, policy.set, policy.backtested, " +
          "review.claimed, review.decided, review.disputed, journal.damaged, journal.mended, " +
          "store.lagging, stream.message_ignored",
      ],
      ["tenant", "whose affair it is, or null: the bureau's"],
      ["actor", "API key that did it, where that is known"],
      ["agent", "the agent whose key it is about, or null"],
      ["kid", "the reporter's key, or null"],
      ["detail", "all that is known, as JSON"],
      ["via", "`console:` and the beginning of the session, or null: by the API"],
    ],
  },
};
