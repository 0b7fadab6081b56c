// Decodes journal records other than outcomes (keys, configs, sources, audits) into store rows:
// only the composition knows the payloads of all folders. A record of an unknown kind or version is
// not shown; it stays in the journal.
import { formatCanonicalJson } from "../contract/canonical-json.ts";
import { decodeSharedChange } from "../kaizen/service/shared-promotions.ts";
import { createHash } from "node:crypto";
import { BACKTEST_AUDIT_EVENT } from "../bureau/notes.ts";
import { decodeConditionEvent } from "../contract/conditions/events.ts";
import { isNamespacePattern } from "../contract/identifiers.ts";
import { type KeyEvent } from "../contract/key-events.ts";
import { type NamespaceEvent, extractNamespace } from "../contract/namespaces.ts";
import type { NoteTable } from "../contract/notes.ts";
import { formatConfigVersion } from "../engine/config.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  readFrameTimeUs,
} from "../journal/format.ts";
import { decodeUsage } from "../contract/usage-records.ts";
import { decodePolicyEvent } from "../policy/policy-book.ts";
import { decodeReviewRows } from "./review-payloads.ts";
import type { AuditRow, JournalRows } from "../store/rows/journal.ts";
import type { NoteRow } from "../store/rows/notes.ts";
import { decodeSourceEvent, isSourceEvent } from "../vault/sources/events.ts";

/** The rows that a record adds; see DescribeRecord. Never throws. */
export function decodeStoreRows(bytes: Buffer, at: number): Partial<JournalRows> {
  const start = at + FRAME_HEAD_BYTES;
  const payload = bytes.subarray(start, start + readPayloadLength(bytes, at));
  const recordedAtMs = readFrameTimeUs(bytes, at) / 1000;
  try {
    const kind = readFrameKind(bytes, at);
    if (kind === FRAME_KINDS.evidence) return decodeSourceRows(payload);
    if (kind === FRAME_KINDS.key) return buildAuditRows(decodeKeyAudit(payload, recordedAtMs));
    if (kind === FRAME_KINDS.namespace)
      return buildAuditRows(decodeNamespaceAudit(payload, recordedAtMs));
    if (kind === FRAME_KINDS.audit) {
      return {
        ...buildAuditRows(decodeNamedAudit(payload, recordedAtMs)),
        ...decodeBacktestRows(payload),
      };
    }
    if (kind === FRAME_KINDS.review) return decodeNoteRows("reviews", payload);
    if (kind === FRAME_KINDS.provenance) return decodeNoteRows("provenance", payload);
    if (kind === FRAME_KINDS.keyAudit) return decodeNoteRows("audit_events", payload);
    if (kind === FRAME_KINDS.policy) {
      return {
        ...buildAuditRows(decodeNamedAudit(payload, recordedAtMs)),
        ...decodePolicyRows(payload),
      };
    }
    if (kind === FRAME_KINDS.reviewEvent) return decodeReviewRows(payload, recordedAtMs);
    if (kind === FRAME_KINDS.condition) {
      return buildAuditRows(decodeConditionAudit(payload, recordedAtMs));
    }
    if (kind === FRAME_KINDS.usage) return { usage: decodeUsage(payload) };
    if (kind === FRAME_KINDS.config)
      return buildAuditRows(decodeConfigAudit(payload, recordedAtMs));
  } catch {
    // Not one of ours, or of a later version.
  }
  return {};
}

function buildAuditRows(row: AuditRow): Partial<JournalRows> {
  return { audits: [row] };
}

function decodeSourceRows(payload: Buffer): Partial<JournalRows> {
  if (!isSourceEvent(payload)) return {};
  const event = decodeSourceEvent(payload);
  return {
    sources: [
      {
        sourceId: event.source_id,
        tenant: event.tenant,
        visibility: event.visibility,
        kind: event.kind,
        title: event.title,
        digest: event.sha256,
        bytes: event.size,
        status: event.state,
        registeredAtMs: event.registered_at,
        registeredBy: event.registrar,
      },
    ],
  };
}

function decodePolicyRows(payload: Buffer): Partial<JournalRows> {
  const { policy: rules, reason = null, ...event } = decodePolicyEvent(payload);
  const { tenant, version, set_by: setBy, at_ms: setAtMs } = event;
  const policy = JSON.stringify(rules);
  return { policies: [{ tenant, version, setBy, setAtMs, policy, reason }] };
}

/** A note, and the id of the row of an older version whose place it takes, if any. */
function decodeNoteRows(table: NoteTable, payload: Buffer): Partial<JournalRows> {
  const { moved, ...event } = JSON.parse(payload.toString()) as NoteRow["event"] & {
    moved?: string;
  };
  return { notes: [{ table, event, moved }] };
}

function decodeBacktestRows(payload: Buffer): Partial<JournalRows> {
  const { event, backtest } = JSON.parse(payload.toString()) as { event: string; backtest: object };
  if (event !== BACKTEST_AUDIT_EVENT) return {};
  return decodeNoteRows("backtests", Buffer.from(JSON.stringify(backtest)));
}

function decodeKeyAudit(payload: Buffer, recordedAtMs: number): AuditRow {
  const event = JSON.parse(payload.toString()) as KeyEvent;
  const agent = event.event === "registered" ? event.agent : null;
  return {
    event: `reporter_key.${event.event}`,
    tenant: event.tenant,
    agent,
    namespace: agent === null ? null : extractNamespace(agent),
    kid: event.kid,
    recordedAtMs,
    detail: payload.toString(),
  };
}

function decodeNamespaceAudit(payload: Buffer, recordedAtMs: number): AuditRow {
  const { event, tenant, namespace } = JSON.parse(payload.toString()) as NamespaceEvent;
  const detail = payload.toString();
  return { event, tenant, agent: null, namespace, kid: null, recordedAtMs, detail };
}

function decodeConditionAudit(payload: Buffer, recordedAtMs: number): AuditRow {
  const event = decodeConditionEvent(payload);
  const subject = "subject" in event ? event.subject : null;
  const isNamespace = subject !== null && isNamespacePattern(subject);
  return {
    event: event.event,
    tenant: event.tenant,
    agent: isNamespace ? null : subject,
    namespace: isNamespace ? subject.slice("agent://".length, -"/*".length) : null,
    kid: null,
    recordedAtMs,
    detail: payload.toString(),
  };
}

/** Some events name only a reporter's key, others the tenant they concern. */
function decodeNamedAudit(payload: Buffer, recordedAtMs: number): AuditRow {
  const { event, kid, tenant } = JSON.parse(payload.toString()) as {
    event: string;
    kid?: string;
    tenant?: string | null;
  };
  return {
    event,
    tenant: tenant ?? null,
    agent: null,
    namespace: null,
    kid: kid ?? null,
    recordedAtMs,
    detail: payload.toString(),
  };
}

/** The payload is the config's canonical JSON, whose digest is its version. */
function decodeConfigAudit(payload: Buffer, recordedAtMs: number): AuditRow {
  const { config } = decodeSharedChange(payload) ?? {};
  const bytes = config === undefined ? payload : Buffer.from(formatCanonicalJson(config));
  const version = formatConfigVersion(createHash("sha256").update(bytes).digest());
  return {
    event: "config.promoted",
    tenant: null,
    agent: null,
    namespace: null,
    kid: null,
    recordedAtMs,
    detail: JSON.stringify({ config_version: version }),
  };
}
