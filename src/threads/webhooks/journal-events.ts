// Events of the journal, read beside its writer up to the durable position. A place is the position of
// the last record read.
import type { KeyEvent } from "../../contract/key-events.ts";
import type { NoteEvents } from "../../contract/notes.ts";
import type { ReviewEvent } from "../../contract/reviews/events.ts";
import type { FileLayer } from "../../platform/files.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  readFrameTimeUs,
} from "../../journal/format.ts";
import { JournalReader } from "../../journal/reader.ts";
import {
  type WebhookEventSource,
  deriveEventId,
  type RecordEvents,
  type OutgoingWebhookEvent,
} from "../../webhooks/event.ts";

const JOURNAL_SOURCE_NAME = "journal";
/** Records of one read: nearly all are outcomes, which give no event. */
const RECORDS_MAX = 4096;

/** What a record says, before it has an id, which is that of its place or what it is `about`; undefined: nothing that anybody is told. */
type JournalEventDraft =
  | (Omit<OutgoingWebhookEvent, "id"> & { readonly about?: string })
  | undefined;

export class JournalEvents implements WebhookEventSource {
  readonly name = JOURNAL_SOURCE_NAME;
  readonly types = [
    "key.revoked",
    "review.opened",
    "journal.damaged",
    "store.lagging",
    "finding.raised",
  ] as const;
  readonly #reader: JournalReader;
  readonly #serviceId: string;
  readonly #durable: () => number;

  constructor(files: FileLayer, directory: string, serviceId: string, durable: () => number) {
    this.#reader = new JournalReader(files, directory);
    this.#serviceId = serviceId;
    this.#durable = durable;
  }

  head(): number {
    return this.#durable();
  }

  read(from: unknown): { readings: RecordEvents[]; next: number } {
    const durable = this.#durable();
    // A journal that was restored to an earlier time ends before: told from there on.
    const after = typeof from === "number" ? Math.min(from, durable) : durable;
    const readings: RecordEvents[] = [];
    const next = this.#reader.readRecords(after, durable, RECORDS_MAX, (bytes, at, lsn) => {
      const told = decodeRecordEvent(bytes, at);
      if (told === undefined) return;
      const { about = lsn, ...event } = told;
      const id = deriveEventId(this.#serviceId, JOURNAL_SOURCE_NAME, about);
      readings.push({ events: [{ id, ...event }], next: lsn });
    });
    return { readings, next };
  }

  close(): void {
    this.#reader.close();
  }
}

function decodeReporterKeyRevocation(payload: string, atMs: number): JournalEventDraft {
  const event = JSON.parse(payload) as KeyEvent;
  if (event.event !== "revoked") return undefined;
  const { tenant, kid, compromised_since_ms: sinceMs } = event;
  const since = sinceMs === null ? null : new Date(sinceMs).toISOString();
  const data = { kind: "reporter_key", kid, compromised_since: since };
  return { type: "key.revoked", tenant, lane: "", atMs, data };
}

function decodeApiKeyRevocation(payload: string, atMs: number): JournalEventDraft {
  const { event, tenant, actor, detail } = JSON.parse(payload) as NoteEvents["audit_events"];
  if (event !== "api_key.revoked") return undefined;
  const { key_id: keyId, label } = detail as { key_id: string; label: string | null };
  const data = { kind: "api_key", key_id: keyId, label, revoked_by: actor };
  return { type: "key.revoked", tenant, lane: "", atMs, data };
}

/** A review that a crash has lost is opened again, under its id. */
function decodeReviewOpening(payload: string, atMs: number): JournalEventDraft {
  const event = JSON.parse(payload) as ReviewEvent;
  if (event.event !== "review.opened") return undefined;
  const { id, tenant, agent, level, day, reason } = event;
  const kind = event.dispute === undefined ? "held" : "dispute";
  const { first_request_id: request_id, first_stakes: stakes } = event;
  const data = {
    review_id: id,
    kind,
    tenant,
    agent_id: agent,
    level,
    day,
    reason,
    request_id,
    stakes,
  };
  return { type: "review.opened", tenant, lane: agent, atMs, data, about: id };
}

const SERVICE_AUDIT_EVENTS = ["journal.damaged", "store.lagging", "finding.raised"] as const;

const isServiceAuditEvent = (type: string): type is (typeof SERVICE_AUDIT_EVENTS)[number] =>
  (SERVICE_AUDIT_EVENTS as readonly string[]).includes(type);

/** Of the audit records, those of the service itself that somebody has to act on. */
function decodeServiceAudit(payload: string, atMs: number): JournalEventDraft {
  const { event: type, ...members } = JSON.parse(payload) as { event: string };
  if (!isServiceAuditEvent(type)) return undefined;
  const data = Object.fromEntries(Object.entries(members).filter(([name]) => name !== "at_ms"));
  return { type, tenant: null, lane: "", atMs, data };
}

/** By kind of record; all others say nothing that anybody is told. A new kind is one line. */
const DECODERS: Readonly<Record<number, (payload: string, atMs: number) => JournalEventDraft>> = {
  [FRAME_KINDS.key]: decodeReporterKeyRevocation,
  [FRAME_KINDS.keyAudit]: decodeApiKeyRevocation,
  [FRAME_KINDS.reviewEvent]: decodeReviewOpening,
  [FRAME_KINDS.audit]: decodeServiceAudit,
};

function decodeRecordEvent(bytes: Buffer, at: number): JournalEventDraft {
  const decode = DECODERS[readFrameKind(bytes, at)];
  if (decode === undefined) return undefined;
  const start = at + FRAME_HEAD_BYTES;
  const payload = bytes.toString("utf8", start, start + readPayloadLength(bytes, at));
  const atMs = Math.floor(readFrameTimeUs(bytes, at) / 1000);
  try {
    return decode(payload, atMs);
  } catch {
    // Not one of ours, or of a later version.
    return undefined;
  }
}
