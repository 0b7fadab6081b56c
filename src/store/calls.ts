// Calls to the store thread: whose SQL they carry, what they may look at, who answers them, how their
// answers cross between threads.
import { SCORED_VIEWS } from "../contract/views.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { StoreCore } from "./core.ts";
import type { StoreExports } from "./exports.ts";
import { answerDirectory } from "./directory/directory.ts";
import type { StoreCall } from "./messages.ts";
import { describeViews } from "./query/catalogue.ts";
import { STREAM_WORK_MS } from "./query/row-streams.ts";
import type { StoreRecords } from "./records.ts";
import { unjournaledNotes } from "./rows/notes.ts";
import { findSigned } from "./rows/signed-lookup.ts";
import { usageRows } from "./rows/usage.ts";
import type { CallerCall } from "./sandbox/messages.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";

/** Different notes of older versions given out at once. */
const MOVED_MAX = 200;

/** Whether a call carries SQL of a caller, or takes parts of its answer. */
export function isOfCaller(call: StoreCall): call is CallerCall {
  return ["query", "cancelQuery", "openStream", "nextPart", "closeStream"].includes(call.name);
}

/** Runs callers' SQL in the sandbox; without one, for an operator's command, in the store itself. */
export async function performForCaller(
  call: CallerCall,
  { readQueue }: StoreCore,
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
  if (call.name === "query") return readQueue.query(call.sql, call.limits, call.asker);
  return readQueue.streams.open(call.sql, STREAM_WORK_MS, call.asker);
}

/** A call that waits for its answer. */
export interface AskedCall {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** The thread has ended. */
export function storeEnded(): ServiceFault {
  return new ServiceFault("store_unavailable", "the outcome store is not running");
}

/** What the store's own calls are answered from. */
export interface CallGround {
  readonly core: StoreCore;
  readonly records: StoreRecords;
  readonly exports: StoreExports;
  /** Epoch ms. */
  readonly clock: () => number;
  /** Makes rows of all decisions so far, and reads the scores that the call looks at. */
  readonly freshen: () => Promise<void>;
}

/** Answers a call whose SQL is ours. */
export async function performForStore(
  call: Exclude<StoreCall, CallerCall>,
  { core, records, exports, clock, freshen }: CallGround,
): Promise<unknown> {
  const { readQueue } = core;
  if (call.name === "note") return records.note(call.event);
  if (call.name === "unjournaled") {
    return readQueue.read((reader) => unjournaledNotes(reader, MOVED_MAX));
  }
  if (call.name === "findSigned") return readQueue.find((finder) => findSigned(finder, call.id));
  if (call.name === "usage") return readQueue.read((reader) => usageRows(reader, call.range));
  if (call.name === "describe") return readQueue.read(describeViews);
  if (call.name === "ask") return readQueue.read((reader) => reader.rows(call.sql));
  if (call.name === "decisions") return records.decisions(call.filter, clock());
  if (call.name === "decisionCounts") return records.counts(call.filter, clock());
  if (call.name === "reviews") return records.reviews(call.filter, call.isOpen, clock());
  await freshen();
  // A lane of its own: behind no query, and behind no export.
  if (call.name === "directory") {
    return core.logQueue.read((reader) => answerDirectory(reader, call.ask));
  }
  if (call.name === "exportDays") return exports.days(call.view, call.options);
  return exports.file(call.view, call.day, call.options);
}

/** Parts of streams and exported days move instead of being copied. */
export function transferable(result: unknown): ArrayBuffer[] {
  if (!(result instanceof Uint8Array) || !(result.buffer instanceof ArrayBuffer)) return [];
  return result.byteLength === result.buffer.byteLength ? [result.buffer] : [];
}

const SCORES_NAMED = new RegExp(`\\b(${SCORED_VIEWS.join("|")})\\b`, "i");

/** A list is looked at while it is typed: it takes scores that may be older. */
const LIST_WAIT_MS = 100;
const FIRST_LIST_WAIT_MS = 5000;

/** Longest waits for a new reading of the scores, for the first one too; undefined: the usual. */
export function scoreWaits(call: StoreCall): [number, number] | [] {
  return call.name === "directory" ? [LIST_WAIT_MS, FIRST_LIST_WAIT_MS] : [];
}

/** Whether a read may look at scores, by the words of its text. */
export function readsScores(call: StoreCall): boolean {
  if (call.name === "directory") return call.ask.list === "agents";
  if (call.name === "query" || call.name === "openStream") return SCORES_NAMED.test(call.sql);
  return "view" in call && SCORES_NAMED.test(call.view);
}
