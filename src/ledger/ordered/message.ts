// Messages of the cluster's ordered log, and the mark that each of them leaves in the journal. A message
// is the frames of one or more appends; its mark says which one the records after it came with.
import { createHash } from "node:crypto";

/** Number of the rules by which messages are applied; a node applies none of a higher one. */
export const MESSAGE_RULES_VERSION = 2;

/** Rules of a log that says nothing else with its first message. */
export const FIRST_RULES = 1;

/** Rules from which on a log may hold ticks. */
export const TICK_RULES = 2;

/** Nodes compare the chains of their journals at every message whose place is a multiple of this. */
export const CHECKPOINT_MESSAGES = 1000;

/** Most bytes of a message: one that holds a single record of the largest kind fits. */
export const MESSAGE_BYTES_MAX = 6 * 1024 * 1024;

/** What tells a message from every other. */
export type MessageId = Pick<OutgoingMessage, "origin" | "n">;

/** A message before it has its place in the log. */
export interface OutgoingMessage {
  /** Process of a node: `<node>:<epoch>:<chance>`. */
  readonly origin: string;
  /** Number of the message at its origin, from 1. */
  readonly n: number;
  /** Records in it. */
  readonly count: number;
  /** Journal frames back to back, not yet sealed. */
  readonly frames: Uint8Array;
  /** Rules that it asks for; left out: the first. */
  readonly rules?: number;
}

/** A message at its place in the log. */
export interface OrderedMessage extends OutgoingMessage {
  /** Place in the log, from 1, without holes. */
  readonly seq: number;
  /** Time at which the log took it, epoch ms: the time of its records' commit on every node. */
  readonly timeMs: number;
  readonly rules: number;
}

/** Origin of an origin's ticks: their numbers are none of its messages'. */
export function formatTickOrigin(origin: string): string {
  return `${origin}:tick`;
}

/** Whether a message says nothing: its place alone tells a node that it has the log up to there. */
export function isTick({ rules, count, frames }: OrderedMessage): boolean {
  return rules >= TICK_RULES && count === 0 && frames.byteLength === 0;
}

/** Whether a message leaves a mark in the journal: so do all but ticks, and of ticks those at a checkpoint. */
export function leavesMark(message: OrderedMessage): boolean {
  const { seq } = message;
  return seq === 1 || seq % CHECKPOINT_MESSAGES === 0 || !isTick(message);
}

/** Hash of the agent table at a checkpoint; only those of one engine can be compared. */
export interface TableHash {
  readonly engine: string;
  readonly hash: string;
}

/** Position and chain, in hex, of the journal behind which a log was begun. */
export interface LogBeginning {
  readonly lsn: number;
  readonly chain: string;
}

const LOG_BEGINNING_ORIGIN = /^after:(\d+):([0-9a-f]{64})$/;

/** Origin of the first message of a log that goes on from a journal. It holds no records. */
export function formatLogBeginning({ lsn, chain }: LogBeginning): string {
  return `after:${lsn}:${chain}`;
}

/** What a message says of the journal that its log goes on from; undefined for all but the first of such a log. */
export function parseLogBeginning(
  message: Pick<OrderedMessage, "origin" | "seq" | "n" | "rules" | "frames">,
): LogBeginning | undefined {
  const { origin, seq, n, rules, frames } = message;
  if (seq !== 1 || n !== 1 || !(rules >= 1) || frames.byteLength > 0) return undefined;
  const [, lsn, chain] = LOG_BEGINNING_ORIGIN.exec(origin) ?? [];
  return chain === undefined ? undefined : { lsn: Number(lsn), chain };
}

/** What the journal keeps of a message: payload of a frame of kind `stream`. */
export interface StreamMark {
  readonly generation: number;
  readonly seq: number;
  readonly origin: string;
  readonly n: number;
  /** First 16 hex digits of SHA-256 over origin, number and frames: tells one message from another. */
  readonly sha: string;
  /** Rules of the log, told by its first message; left out: the first. */
  readonly rules?: number;
}

/** The mark's `sha`. The frames must not have been sealed yet. */
export function digestMessage({ origin, n, frames }: OutgoingMessage): string {
  return createHash("sha256").update(`${origin}\n${n}\n`).update(frames).digest("hex").slice(0, 16);
}

export function buildStreamMark(generation: number, message: OrderedMessage): StreamMark {
  const { seq, origin, n, rules } = message;
  const level = seq === 1 && rules > FIRST_RULES ? { rules } : {};
  return { generation, seq, origin, n, sha: digestMessage(message), ...level };
}

export function encodeStreamMark(mark: StreamMark): Buffer {
  return Buffer.from(JSON.stringify(mark));
}

export function decodeStreamMark(payload: Uint8Array): StreamMark {
  return JSON.parse(Buffer.from(payload).toString()) as StreamMark;
}

/** To the stream thread. */
export type ToStream =
  /** Put these frames into the log; answered by `published` or `unpublished`. */
  | { kind: "publish"; n: number; count: number; frames: Uint8Array<ArrayBuffer> }
  /** Read the log from this place on, whatever was read before; `last`: the message that is known to stand there. `rules` as of `applied`. */
  | { kind: "follow"; from: number; last?: MessageId | undefined; rules: number }
  /** Everything up to this place is applied; at a checkpoint with the hash of the table there. */
  | AppliedMessage
  | { kind: "close" };

export interface AppliedMessage {
  readonly kind: "applied";
  readonly seq: number;
  readonly lsn: number;
  readonly chain: string;
  readonly table?: TableHash | undefined;
  /** Rules of the log; 0 before its first message. */
  readonly rules: number;
}

/** From the stream thread. */
export type FromStream =
  | { kind: "published"; n: number }
  /** Not to be had in time; the message may stand in the log all the same. */
  | { kind: "unpublished"; n: number }
  | { kind: "ordered"; messages: readonly OrderedMessage[] };
