// Rows of journal records other than outcomes: signed batches, sources of the vault, the records
// that auditors ask for (reporters' keys, promoted configs, reporters that contradict themselves),
// reporters' standings, and assessments of agents' texts.
import { type Assessment, ASSESSMENT_KINDS } from "../../contract/assessments.ts";
import { digestSignedBody } from "../../contract/signed-records.ts";
import { RING_BIT, STANDING_BITS, readClusterNumber } from "../../contract/standings.ts";
import { decodeAssessment } from "../../journal/assessments.ts";
import { FRAME_KINDS, readFrameKind } from "../../journal/format.ts";
import { decodeStandings } from "../../journal/standings.ts";
import { decodeBatchEvidence } from "../../journal/proof.ts";
import { appendRows, appendValues, type Connection } from "../duckdb.ts";
import type { ViewDefinition } from "../view.ts";
import { appendNotes, type NoteRow } from "./notes.ts";
import type { PolicyRow } from "./policies.ts";
import {
  appendReviewQueue,
  type PositionedRow,
  type ReviewCallRow,
  type ReviewEventRow,
} from "./review-queue.ts";
import type { UsageRow } from "../../contract/usage.ts";
import { UsageBatch } from "./usage.ts";

const ASSESSMENT_TABLE = `CREATE TABLE assessment_rows (position BIGINT NOT NULL,
  assessed_at TIMESTAMP NOT NULL, tenant VARCHAR NOT NULL, key_id VARCHAR NOT NULL,
  agent VARCHAR NOT NULL, code VARCHAR NOT NULL, feature VARCHAR NOT NULL,
  content_sha256 VARCHAR NOT NULL)`;

const ASSESSMENT_VIEW: ViewDefinition = {
  sql: (from) => `SELECT assessed_at, tenant, key_id, agent, code, feature, content_sha256, position
    FROM ${from("assessment_rows")}`,
  comment: "texts of agents that failed for certain when a first-party key asked, each once",
  columns: [
    ["assessed_at", "when the verdict was given, UTC"],
    ["tenant", "tenant of the asking key"],
    ["key_id", "API key that asked"],
    ["agent", "the agent whose text it was"],
    ["code", "the finding, as in reason_codes"],
    ["feature", "what it counts towards: hallucination or unverified"],
    ["content_sha256", "SHA-256 of the text, hex; the text is not kept"],
    ["position", "its record in the evidence journal"],
  ],
};

/** State of a source of the vault from this record on. */
interface SourceRow {
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
  /** Null for an unvouched reporter. */
  credibility: number | null;
  isSeed: boolean;
  signs: boolean;
  isDiscounted: boolean;
  /** Null for none. */
  cluster: number | null;
  isInRing: boolean;
}

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
    const kind = readFrameKind(bytes, at);
    const batch = kind === FRAME_KINDS.evidence ? decodeBatchEvidence(bytes, at) : undefined;
    if (batch !== undefined) {
      const { evidenceId, kid, jti, recordedAtMs, body } = batch;
      const bodyDigest = digestSignedBody(body);
      this.#signedBatches.push({ position, evidenceId, kid, jti, recordedAtMs, bodyDigest });
    } else if (kind === FRAME_KINDS.standings) {
      for (const row of decodeStandingRows(bytes, at)) this.#standings.push({ position, ...row });
    } else if (kind === FRAME_KINDS.assessment) {
      this.#assessments.push({ position, ...decodeAssessment(bytes, at) });
    } else this.#addDescribed(this.#describe(bytes, at), position);
  }

  #addDescribed(rows: Partial<JournalRows>, position: number): void {
    const add = <Row extends object>(to: PositionedRow<Row>[], from: readonly Row[] = []) => {
      for (const row of from) to.push({ position, ...row });
    };
    add(this.#reviewEvents, rows.reviewEvents);
    add(this.#reviewCalls, rows.reviewCalls);
    add(this.#sources, rows.sources);
    add(this.#audits, rows.audits);
    add(this.#policies, rows.policies);
    add(
      this.#notes,
      rows.notes?.filter((note) => !this.#hasExpired(note)),
    );
    for (const row of rows.usage ?? []) this.#usage.add(row, position);
  }

  #hasExpired({ table, event, moved }: NoteRow): boolean {
    // A moved record is needed in any case: it takes the old row away.
    if (table !== "provenance" || moved !== undefined) return false;
    return event.recorded_at < this.#notesSinceMs;
  }

  /** Appends the gathered rows, inside the open transaction. */
  async append(connection: Connection): Promise<void> {
    await appendRows(connection, "batch_rows", this.#signedBatches, (appender, row) => {
      appendValues(appender, BigInt(row.position), { epochMs: row.recordedAtMs });
      appendValues(appender, row.evidenceId, row.kid, row.jti, row.bodyDigest);
    });
    await appendRows(connection, "source_rows", this.#sources, (appender, row) => {
      appendValues(appender, BigInt(row.position), { epochMs: row.registeredAtMs }, row.sourceId);
      appendValues(appender, row.tenant, row.visibility, row.kind, row.title, row.digest);
      appendValues(appender, BigInt(row.bytes), row.status, row.registeredBy);
    });
    await appendRows(connection, "audit_rows", this.#audits, (appender, row) => {
      appendValues(appender, BigInt(row.position), { epochMs: row.recordedAtMs });
      appendValues(appender, row.event, row.tenant, row.agent, row.namespace, row.kid, row.detail);
    });
    await appendRows(connection, "policy_rows", this.#policies, (appender, row) => {
      appendValues(appender, BigInt(row.position), { epochMs: row.setAtMs }, row.tenant);
      appendValues(appender, row.version, row.setBy, row.policy, row.reason);
    });
    await appendRows(connection, "standing_rows", this.#standings, (appender, row) => {
      appendValues(appender, BigInt(row.position), row.agent, row.credibility, row.isSeed);
      const cluster = row.cluster === null ? null : BigInt(row.cluster);
      appendValues(appender, row.signs, row.isDiscounted, cluster, row.isInRing);
    });
    await appendRows(connection, "assessment_rows", this.#assessments, (appender, row) => {
      const { tenant, keyId, agent, code, kindIndex, digest } = row;
      appendValues(appender, BigInt(row.position), { epochMs: row.assessedAtMs }, tenant, keyId);
      appendValues(appender, agent, code, ASSESSMENT_KINDS[kindIndex]!, digest);
    });
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
    cluster: readClusterNumber(cluster) || null,
    isInRing: (cluster & RING_BIT) !== 0,
  }));
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
      discounted BOOLEAN NOT NULL, cluster BIGINT, in_ring BOOLEAN NOT NULL)`,
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
          "bureau_key.rotated, bureau_key.replaced, access.denied, policy.set, policy.backtested, " +
          "review.claimed, review.decided, review.disputed, condition.set, condition.lifted, stop.set, " +
          "stop.lifted, journal.damaged, journal.mended, " +
          "store.lagging, finding.raised, stream.message_ignored",
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
