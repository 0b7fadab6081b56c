// Events of the decision log, read from its segments: the files that rows are made from, which stay as
// long as rows do. A place is a segment, a byte where its unread blocks begin, the number of records
// before that byte, and how many behind it have been read.
import * as fs from "node:fs";
import { join } from "node:path";
import { DECISION_KINDS, DECISION_LEGS } from "../../contract/decisions.ts";
import { isObject } from "../../contract/parse/json-object.ts";
import { DECISIONS, type ReasonCode, TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import { FLAG_ENFORCED, FLAG_ALLOWED, FLAG_RESERVED } from "../../store/decisions/ring-layout.ts";
import {
  type DecisionColumns,
  createDecisionColumns,
  decodeRecordsInto,
} from "../../store/decisions/ring-reader.ts";
import {
  listSegments,
  readSegmentBlocks,
  type DecisionSegment,
} from "../../store/decisions/segments.ts";
import {
  type WebhookEventSource,
  deriveEventId,
  type RecordEvents,
  type OutgoingWebhookEvent,
} from "../../webhooks/event.ts";

const DECISION_SOURCE_NAME = "decisions";
/** The reason of decisions about an agent that carries a fraud flag. */
const FRAUD: ReasonCode = "FRAUD_FLAG";

/** Records of one read: a segment may have many thousands. */
const RECORDS_MAX = 1024;

interface DecisionCursor {
  readonly segment: string;
  readonly byte: number;
  /** Records of the segment before `byte`. */
  readonly before: number;
  /** Records behind `byte` that have been read. */
  readonly taken: number;
}

const FIRST_DECISION_CURSOR: DecisionCursor = { segment: "", byte: 0, before: 0, taken: 0 };

/** A stretch of a segment, read once for as long as nothing is added to it. */
interface DecodedSegmentRange {
  readonly key: string;
  readonly columns: DecisionColumns;
  readonly end: number;
}

export class DecisionEvents implements WebhookEventSource {
  readonly name = DECISION_SOURCE_NAME;
  readonly types = ["decision.denied", "agent.fraud_flagged"] as const;
  readonly #directory: string;
  readonly #serviceId: string;
  #stretch: DecodedSegmentRange | undefined;

  constructor(directory: string, serviceId: string) {
    this.#directory = directory;
    this.#serviceId = serviceId;
  }

  head(): DecisionCursor {
    const last = listSegments(this.#directory).at(-1);
    if (last === undefined) return FIRST_DECISION_CURSOR;
    const { columns, end } = this.#read(last, 0);
    return { segment: last.name, byte: end, before: columns.count, taken: 0 };
  }

  read(from: unknown): { readings: RecordEvents[]; next: DecisionCursor } {
    const at = parseDecisionPlace(from);
    const segments = listSegments(this.#directory);
    const found = segments.find(({ name }) => name === at.segment);
    const following = segments.find(({ name }) => name > at.segment);
    const begun =
      following === undefined ? undefined : { ...FIRST_DECISION_CURSOR, segment: following.name };
    // It is kept no more: its rows are older than the log is kept.
    if (found === undefined) return { readings: [], next: begun ?? at };
    const stretch = this.#readIfThere(found, at.byte);
    if (stretch === undefined) return { readings: [], next: at };
    const { columns, end } = stretch;
    const readings: RecordEvents[] = [];
    const until = Math.min(columns.count, at.taken + RECORDS_MAX);
    for (let row = at.taken; row < until; row++) {
      const next = { ...at, taken: row + 1 };
      const events = this.#buildEvents(columns, row, at.segment, at.before + row);
      if (events.length > 0) readings.push({ events, next });
    }
    if (until < columns.count) return { readings, next: { ...at, taken: until } };
    // A segment that another follows is complete: its writer has left it.
    const passed = { segment: at.segment, byte: end, before: at.before + columns.count, taken: 0 };
    return { readings, next: begun ?? passed };
  }

  /** Undefined when it was compressed meanwhile: the next look finds it by its other name. */
  #readIfThere(segment: DecisionSegment, byte: number): DecodedSegmentRange | undefined {
    try {
      return this.#read(segment, byte);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  #read(segment: DecisionSegment, byte: number): DecodedSegmentRange {
    const size = fs.statSync(join(this.#directory, segment.file)).size;
    const key = `${segment.file} ${byte} ${size}`;
    if (this.#stretch?.key === key) return this.#stretch;
    const columns = createDecisionColumns();
    let end = byte;
    // Of a compressed file the size is not that of its blocks.
    if (segment.isCompressed || size > byte) {
      const blocks = readSegmentBlocks(this.#directory, segment, byte);
      for (const records of blocks.records) decodeRecordsInto(columns, records);
      end = byte + blocks.end;
    }
    return (this.#stretch = { key, columns, end });
  }

  #buildEvents(
    columns: DecisionColumns,
    row: number,
    segment: string,
    index: number,
  ): OutgoingWebhookEvent[] {
    const flags = columns.indexes[8]![row]!;
    const isDenied = (flags & FLAG_ALLOWED) === 0;
    const isFraud = columns.texts[9]![row]!.includes(FRAUD);
    if (!isDenied && !isFraud) return [];
    const data = readDecisionRecord(columns, row);
    const atMs = columns.numbers[0]![row]!;
    const { tenant, agent_id: lane } = data;
    const common = { tenant, lane, atMs, data };
    const events: OutgoingWebhookEvent[] = [];
    if (isDenied) {
      const id = deriveEventId(this.#serviceId, DECISION_SOURCE_NAME, segment, index, "denied");
      events.push({ ...common, id, type: "decision.denied" });
    }
    if (isFraud) {
      // One id for all of a day: an endpoint is told of the first, and knows a repeat by it.
      const day = new Date(atMs).toISOString().slice(0, 10);
      const id = deriveEventId(this.#serviceId, DECISION_SOURCE_NAME, "fraud", tenant, lane, day);
      events.push({ ...common, id, type: "agent.fraud_flagged" });
    }
    return events;
  }
}

function parseDecisionPlace(value: unknown): DecisionCursor {
  if (!isObject(value)) return FIRST_DECISION_CURSOR;
  const { segment, byte, before, taken } = value;
  if (typeof segment !== "string") return FIRST_DECISION_CURSOR;
  const count = (each: unknown) => (Number.isSafeInteger(each) ? (each as number) : 0);
  return { segment, byte: count(byte), before: count(before), taken: count(taken) };
}

/** The columns of a record in its order (store/decisions/table.ts), as a receiver reads them. */
function readDecisionRecord({ indexes, numbers, texts, counts }: DecisionColumns, row: number) {
  const index = (column: number) => indexes[column]![row]!;
  const number = (column: number) => numbers[column]![row]!;
  const text = (column: number) => texts[column]![row]!;
  const flags = index(8);
  const viewer = text(4);
  return {
    request_id: text(0),
    tenant: text(1),
    key_id: text(2),
    agent_id: text(3),
    ...(viewer === "" ? {} : { counterparty: viewer }),
    kind: DECISION_KINDS[index(0)] ?? null,
    leg: DECISION_LEGS[index(1)] ?? null,
    action: text(5) === "" ? null : text(5),
    tool_level: TOOL_LEVELS[index(2)] ?? null,
    stakes: number(1),
    verdict: VERDICTS[index(3)] ?? null,
    decision: DECISIONS[index(4)] ?? null,
    log_reason: text(6) === "" ? null : text(6),
    reason_codes: text(9) === "" ? [] : text(9).split(","),
    internal_score: number(5),
    enforced: (flags & FLAG_ENFORCED) !== 0,
    is_test: (flags & FLAG_RESERVED) !== 0,
    /** Identical denials of one second are one record. */
    stands_for: counts[row]!,
    config_version: text(8),
    policy_version: text(10) === "" ? null : text(10),
  };
}
