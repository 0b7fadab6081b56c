// Feed of a real ledger core whose stream thread is played by the test: what it was sent, and what it is given.
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { afterEach, expect } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { LiveTable } from "../../../src/engine/live-table.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import type { FrameRun } from "../../../src/journal/writer.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { LedgerCore } from "../../../src/ledger/core.ts";
import type { LedgerCoreOptions } from "../../../src/ledger/core.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import type { RemoteEvent } from "../../../src/ledger/ordered/apply.ts";
import { type OrderedFeedOptions, OrderedFeed } from "../../../src/ledger/ordered/feed.ts";
import {
  type OrderedMessage,
  MESSAGE_RULES_VERSION,
  type FromStream,
  type ToStream,
} from "../../../src/ledger/ordered/message.ts";
import { GUARD_ENTRIES, newKey, NOW_MS, recordOf, runOf } from "../_fixtures.ts";

export const ORIGIN = "one:1";
const opened: { stop: () => void }[] = [];

afterEach(() => {
  for (const { stop } of opened.splice(0)) stop();
});

export function openOrdered(directory: string, changes: Partial<LedgerCoreOptions> = {}) {
  const table = new LiveTable(createEngineMemory(), loadDefaultConfig(), 1n, 64 * 1024 * 1024);
  table.open(false);
  return new LedgerCore({
    files: diskFileLayer,
    directory,
    key: newKey(),
    epoch: 1,
    ordered: { generation: 1, origin: ORIGIN },
    nowMs: NOW_MS,
    fold: (outcome) => table.fold(outcome),
    replayEntriesMax: GUARD_ENTRIES,
    room: table,
    ...changes,
  });
}

/** Verdicts of each answered append, by the name of its port, in the order of the answers. */
export type Answers = [port: string, verdicts: number[]][];

/** A feed on a port of the caller's. */
export function feedOn(
  core: LedgerCore,
  port: MessagePort,
  changes: Partial<OrderedFeedOptions> = {},
) {
  const answers: Answers = [];
  const failures: unknown[] = [];
  const told: RemoteEvent[] = [];
  const ports = new Map<string, MessagePort>();
  const nameOf = (wanted: MessagePort) => [...ports].find(([, each]) => each === wanted)![0];
  const feed = new OrderedFeed({
    core,
    port,
    origin: ORIGIN,
    answer: (to, results) => answers.push([nameOf(to), results.map(({ verdict }) => verdict)]),
    settled: (_timeMs, events) => told.push(...events),
    fail: (error) => failures.push(error),
    ...changes,
  });
  opened.push({
    stop: () => {
      feed.stop();
      core.close();
      for (const each of ports.values()) each.close();
    },
  });
  const offerRun = ({ bytes, count }: FrameRun, from: string) => {
    if (!ports.has(from)) ports.set(from, new MessageChannel().port1);
    const frames = Uint8Array.from(bytes).buffer;
    const sizes = { byteCount: frames.byteLength, recordCount: count, nowMs: NOW_MS };
    feed.enqueueAppend({ port: ports.get(from)!, message: { kind: "append", frames, ...sizes } });
  };
  const offer = (records: readonly OutcomeRecord[], from = "a") => offerRun(runOf(records), from);
  const offerEvent = (payload: Buffer) => offerRun(eventRun(payload), "a");
  return { answers, failures, told, offer, offerEvent, taken: () => feed.confirmOldestEvents() };
}

/** A feed whose stream thread is the test. */
export function openFeed(core: LedgerCore) {
  const { port1, port2 } = new MessageChannel();
  const sent: ToStream[] = [];
  port2.on("message", (message: ToStream) => sent.push(message));
  const feed = feedOn(core, port1);
  const published = () => sent.filter((message) => message.kind === "publish");
  return {
    ...feed,
    sent,
    published,
    follows: () => sent.flatMap((message) => (message.kind === "follow" ? [message.from] : [])),
    applied: () => sent.flatMap((message) => (message.kind === "applied" ? [message.seq] : [])),
    give: (...messages: FromStream[]) => {
      for (const message of messages) port2.postMessage(message);
    },
    /** As the log gives it; `n` of this feed's own messages. */
    own: async (seq: number, n: number): Promise<FromStream> => {
      await expect.poll(() => published().some((each) => each.n === n)).toBe(true);
      const { frames, count } = published().find((each) => each.n === n)!;
      return orderedOf({ seq, n, count, frames: Uint8Array.from(frames), origin: ORIGIN });
    },
  };
}

/** A key of the API in its stored form, as far as the journal reads it. */
export const ACCESS = Buffer.from(JSON.stringify({ keyId: "k", revokedAtMs: null }));

/** A message of another node with a change of a key. */
export function foreignEvent(seq: number, payload: Buffer = ACCESS): FromStream {
  return foreign(seq, { frames: Uint8Array.from(eventRun(payload).bytes) });
}

function eventRun(payload: Buffer) {
  const batch = new FrameBatch();
  batch.addEvent(FRAME_KINDS.access, payload);
  return batch.drain();
}

/** A message of another node with one outcome. */
export function foreign(seq: number, changes: Partial<OrderedMessage> = {}): FromStream {
  const frames = Uint8Array.from(runOf([recordOf(10_000 + seq)]).bytes);
  return orderedOf({ seq, n: seq, count: 1, frames, origin: "two:1", ...changes });
}

function orderedOf(message: Omit<OrderedMessage, "timeMs" | "rules">): FromStream {
  const timeMs = NOW_MS + message.seq;
  return {
    kind: "ordered",
    messages: [{ timeMs, rules: MESSAGE_RULES_VERSION, isSealed: true, ...message }],
  };
}

/** What is in it, for a core of its own: a journal seals frames in place. */
export function messagesOf(message: FromStream): OrderedMessage[] {
  if (message.kind !== "ordered") return [];
  return message.messages.map((each) => ({ ...each, frames: Uint8Array.from(each.frames) }));
}
