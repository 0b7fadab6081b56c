// Messages of the cluster's ordered log, and the mark that each of them leaves in the journal. A message
// is the frames of one or more appends; its mark says which one the records after it came with.
import { createHash } from "node:crypto";

/** Number of the rules by which messages are applied; a node applies none of a higher one. */
export const MESSAGE_RULES_VERSION = 2;

/** Rules of a log that says nothing else with its first message. */
export const FIRST_RULES = 1;

/** Rules from which on a log may hold ticks. */
export const TICK_RULES = 2;

/** Rules from which on a message counts only with a valid seal. */
export const SEALED_RULES = 2;

/** Places after the one applied when it was sent up to which a message counts; origins are remembered as long. */
export const MESSAGE_PLACES_MAX = 100_000;

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
  /** Place that its sender had applied when it was sent; left out: 0. */
  readonly after?: number;
}

/** A message at its place in the log. */
export interface OrderedMessage extends OutgoingMessage {
  /** Place in the log, from 1, without holes. */
  readonly seq: number;
  /** Time at which the log took it, epoch ms: the time of its records' commit on every node. */
  readonly timeMs: number;
  readonly rules: number;
  /** Whether it carries a seal by the key of this cluster and this generation of its log. */
  readonly isSealed?: boolean;
  /** Set by `blankInvalidMessage` alone: why the message that came at this place does not count. */
  readonly ignored?: IgnoredMessage;
}

/** A message that every node passes over. */
export interface IgnoredMessage {
  readonly reason: string;
  /** Origin that it claims, cut to 256 characters. */
  readonly origin: string;
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

const LOG_BEGINNING_ORIGIN = /^after:(\d+):([0-9a-f]{64})(?::rules:\d+:[0-9a-f]{64})?$/;

/** Origin of the first message of a log that goes on from a journal. It holds no records. */
export function formatLogBeginning({ lsn, chain }: LogBeginning, level: RulesChange): string {
  return `after:${lsn}:${chain}:${formatRulesChange(level)}`;
}

/** Rules of the log from a message on, and the public key of the cluster in hex. */
export interface RulesChange {
  readonly rules: number;
  readonly key: string;
}

const RULES_CHANGE_ORIGIN = /^(?:after:\d+:[0-9a-f]{64}:)?rules:(\d{1,9}):([0-9a-f]{64})$/;

/** Origin of a message that begins a log, or raises its rules. It holds no records. */
export function formatRulesChange({ rules, key }: RulesChange): string {
  return `rules:${rules}:${key}`;
}

/** Rules and key that the message of this origin names; undefined for every other origin. */
export function parseRulesChange(origin: string): RulesChange | undefined {
  const [, rules, key] = RULES_CHANGE_ORIGIN.exec(origin) ?? [];
  return key === undefined ? undefined : { rules: Number(rules), key };
}

/**
 * The message that begins a log or raises its rules. A release that knows only the first rules ends at it: the count
 * is one of a message with records.
 */
export function buildRulesMessage(level: RulesChange, after: number): OutgoingMessage {
  const frames = new Uint8Array(0);
  return { origin: formatRulesChange(level), n: 1, count: 1, frames, rules: level.rules, after };
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
  /** Rules of the log from this message on; left out: as before it, or the first. */
  readonly rules?: number;
}

/** The mark's `sha`. The frames must not have been sealed yet. */
export function digestMessage({ origin, n, frames }: OutgoingMessage): string {
  return createHash("sha256").update(`${origin}\n${n}\n`).update(frames).digest("hex").slice(0, 16);
}

export function buildStreamMark(generation: number, message: OrderedMessage): StreamMark {
  const { seq, origin, n, rules } = message;
  const isChange = seq === 1 || parseRulesChange(origin) !== undefined;
  const level = isChange && rules > FIRST_RULES ? { rules } : {};
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
  /** Messages that are passed over: by their places. */
  | { kind: "ignored"; messages: readonly (IgnoredMessage & { readonly seq: number })[] }
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
