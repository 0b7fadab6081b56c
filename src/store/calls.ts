// Handlers of calls to the store thread: which service answers each, and which rows must be fresh first.
import { join } from "node:path";
import { PAID_VIEWS } from "../contract/views.ts";
import type { StoreDecisionLog } from "./decision-log.ts";
import { readAgentDirectory } from "./directory.ts";
import type { StoreExports } from "./exports.ts";
import type { JournalFollower } from "./journal-follower.ts";
import type { StoreCall } from "./messages.ts";
import { STREAM_WORK_MS } from "./query/row-streams.ts";
import { describeViews } from "./query/views.ts";
import { readUnjournaledNotes } from "./rows/notes.ts";
import { findSignedRecords } from "./rows/outcomes.ts";
import { readUsageRows } from "./rows/usage.ts";
import type { CallerCall } from "./sandbox/process.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";

/** Different notes of older versions given out at once. */
const UNJOURNALED_NOTES_MAX = 200;

/** Name of an answer's file: a command's queries run one after another. */
const ANSWER_FILE = "answer.parquet";

/** Whether a call carries SQL of a caller, or takes parts of its answer. */
export function isCallerCall(call: StoreCall): call is CallerCall {
  return ["query", "cancelQuery", "openStream", "nextPart", "closeStream"].includes(call.name);
}

/** Runs callers' SQL in the sandbox; without one, for an operator's command, in the store itself. */
export async function runCallerCall(
  call: CallerCall,
  { readQueue, exportDirectory }: JournalFollower,
  sandbox: Sandbox | undefined,
  freshen: () => Promise<void>,
): Promise<unknown> {
  const streams = sandbox ?? readQueue.streams;
  if (call.name === "nextPart") return streams.next(call.stream);
  if (call.name === "closeStream") return streams.close(call.stream);
  if (call.name === "cancelQuery") return sandbox?.cancel(call.handle) ?? false;
  if (sandbox !== undefined) {
    return call.name === "query" ? sandbox.query(call) : sandbox.openStream(call);
  }
  await freshen();
  if (call.name === "query") {
    const path = call.form === "parquet" ? join(exportDirectory, ANSWER_FILE) : undefined;
    return readQueue.query(call, call.limits, call.asker, path);
  }
  return readQueue.streams.open(call, call.workMs ?? STREAM_WORK_MS, call.asker);
}

/** What the store's own calls are answered from. */
interface StoreCallServices {
  readonly core: JournalFollower;
  readonly records: StoreDecisionLog;
  readonly exports: StoreExports;
  /** Epoch ms. */
  readonly clock: () => number;
  /** Makes rows of all decisions so far, and reads the scores that the call looks at. */
  readonly refreshRows: () => Promise<void>;
}

/** Answers a call whose SQL is ours. */
export async function runStoreCall(
  call: Exclude<StoreCall, CallerCall>,
  { core, records, exports, clock, refreshRows }: StoreCallServices,
): Promise<unknown> {
  const { readQueue } = core;
  if (call.name === "note") return records.recordRun(call.event);
  if (call.name === "unjournaled") {
    return readQueue.read((reader) => readUnjournaledNotes(reader, UNJOURNALED_NOTES_MAX));
  }
  if (call.name === "findSigned")
    return readQueue.lookUp((finder) => findSignedRecords(finder, call.id));
  if (call.name === "usage") return readQueue.read((reader) => readUsageRows(reader, call.range));
  if (call.name === "describe") return readQueue.read(describeViews);
  if (call.name === "ask") return readQueue.read((reader) => reader.rows(call.sql));
  if (call.name === "decisions") return records.readDecisionPage(call.filter, clock());
  if (call.name === "decisionCounts") return records.countDecisions(call.filter, clock());
  if (call.name === "reviews") return records.listReviews(call.filter, call.isOpen, clock());
  await refreshRows();
  // A lane of its own: behind no query, and behind no export.
  if (call.name === "directory") {
    return core.logQueue.read((reader) => readAgentDirectory(reader, call.ask));
  }
  if (call.name === "exportDays") return exports.listDays(call.view, call.options);
  return exports.exportParquet(call.view, call.day, call.options);
}

/** Parts of streams and exported days move instead of being copied. */
export function listTransferables(result: unknown): ArrayBuffer[] {
  if (!(result instanceof Uint8Array) || !(result.buffer instanceof ArrayBuffer)) return [];
  return result.byteLength === result.buffer.byteLength ? [result.buffer] : [];
}

const SCORE_VIEW_PATTERN = new RegExp(`\\b(${PAID_VIEWS.join("|")})\\b`, "i");

/** A list is looked at while it is typed: it takes scores that may be older. */
const LIST_WAIT_MS = 100;
const FIRST_LIST_WAIT_MS = 5000;

/** Longest waits for a new reading of the scores, for the first one too; undefined: the usual. */
export function selectScoreWaitsMs(call: StoreCall): [number, number] | [] {
  return call.name === "directory" ? [LIST_WAIT_MS, FIRST_LIST_WAIT_MS] : [];
}

/** Whether a read may look at scores, by the words of its text. */
export function mayReadScores(call: StoreCall): boolean {
  if (call.name === "directory") return call.ask.list === "agents";
  if (call.name === "query" || call.name === "openStream") return SCORE_VIEW_PATTERN.test(call.sql);
  return "view" in call && SCORE_VIEW_PATTERN.test(call.view);
}
