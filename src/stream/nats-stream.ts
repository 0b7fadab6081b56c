// Settings that a stream must have to serve as the ordered log: one that was made by other hands may forget
// messages, or keep them in one place only.
import {
  MESSAGE_BYTES_MAX,
  type OrderedMessage,
  type OutgoingMessage,
  FIRST_RULES,
  parseRulesChange,
} from "../ledger/ordered/message.ts";
import { type LogReplica, StreamUnavailable } from "./ordered-log.ts";
import { buildMessageHeaders } from "./nats-connection.ts";
import type { LogSeals } from "./seal.ts";

/** The settings that matter here, under JetStream's names. */
export interface StreamConfig {
  readonly name: string;
  readonly retention?: string;
  readonly storage: string;
  readonly discard: string;
  readonly max_age: number;
  readonly max_msgs: number;
  readonly max_bytes: number;
  readonly num_replicas: number;
}

const DUPLICATE_WINDOW_NS = 120_000_000_000;

/** A stream as it is made: nothing of it is ever deleted singly; what all nodes have is purged from its beginning. */
export function buildStreamConfig(from: {
  readonly name: string;
  readonly subject: string;
  readonly replicas: number;
  readonly bytesMax: number;
}) {
  return {
    name: from.name,
    subjects: [from.subject],
    num_replicas: from.replicas,
    storage: "file" as const,
    discard: "new" as const,
    max_bytes: from.bytesMax,
    max_msg_size: MESSAGE_BYTES_MAX,
    duplicate_window: DUPLICATE_WINDOW_NS,
    deny_delete: true,
  };
}

/** The sentence that says why a stream may not be the log, and mends it; undefined when it may. */
export function describeStreamFault(stream: StreamConfig): string | undefined {
  const { name, retention = "limits", storage, discard, max_age: age, max_msgs: count } = stream;
  if (storage !== "file") {
    return `stream \`${name}\` is kept in memory and ends with its servers: remove it, this node makes it anew on files`;
  }
  const forgets = [
    retention !== "limits" && `retention: ${retention}`,
    discard !== "new" && `discard: ${discard}`,
    age > 0 && `max_age: ${age}`,
    count > 0 && `max_msgs: ${count}`,
  ].filter((each) => each !== false);
  if (forgets.length === 0) return undefined;
  return `stream \`${name}\` forgets messages (${forgets.join(", ")}): edit it to \`retention: limits\`, \`discard: new\` and neither age nor count`;
}

/** What an operator should know of a stream that is taken as it is; undefined when there is nothing. */
export function describeReplicaShortage(
  stream: StreamConfig,
  replicas: number,
): string | undefined {
  const { name, num_replicas: kept } = stream;
  if (kept >= replicas) return undefined;
  return `stream \`${name}\` is kept on ${kept} of ${replicas} servers: raise it with \`nats stream edit ${name} --replicas ${replicas}\``;
}

/** There is no log of this name. */
export function describeMissingStream({
  name,
  servers,
}: {
  name: string;
  servers: readonly string[];
}): string {
  return `there is no log \`${name}\` at ${servers.join(", ")}: see TRUSTRANK_CLUSTER_NAME`;
}

/** The bound of the stream, and that of its servers. */
const STREAM_FULL_CODES: ReadonlySet<number> = new Set([10_077, 10_047, 10_002]);

export function isStreamFull(error: unknown): boolean {
  return STREAM_FULL_CODES.has((error as { code?: number }).code ?? 0);
}

export function createStreamFullError(cause: unknown): StreamUnavailable {
  const detail = `the ordered log is full (${(cause as Error).message}): raise TRUSTRANK_CLUSTER_STREAM_GB and the servers' \`max_file\`, then start a node again`;
  return new StreamUnavailable(detail, { cause });
}

/** One of the stream's followers, under JetStream's names. */
interface JetStreamPeer {
  readonly name: string;
  readonly current: boolean;
  readonly offline?: boolean;
  readonly lag?: number;
  /** Nanoseconds since the leader last heard of it. */
  readonly active?: number;
}

export function buildLogReplicas(peers: readonly JetStreamPeer[] = []): LogReplica[] {
  return peers.map(({ name: server, current, offline, lag }) => {
    return { server, isCurrent: current, isOffline: offline ?? false, lag: lag ?? 0 };
  });
}

/**
 * Ms since the leader last heard of a majority, itself among it: 0 where it is alone, infinite where too few are known.
 * A leader that has lost the others does not know it for a while, and this grows.
 */
export function computeMajoritySilenceMs(peers: readonly JetStreamPeer[] = []): number {
  const needed = Math.floor((peers.length + 1) / 2);
  if (needed === 0) return 0;
  const silences = peers.map(({ offline, active }) =>
    offline === true || active === undefined ? Number.POSITIVE_INFINITY : active / 1e6,
  );
  return silences.toSorted((a, b) => a - b)[needed - 1]!;
}

const ORIGIN = "Tr-Origin";
const NUMBER = "Tr-N";
const COUNT = "Tr-Count";
const MESSAGE_RULES = "Tr-Rules";
const AFTER = "Tr-After";
const SEAL = "Tr-Seal";

/** What a consumer of the stream hands over, as far as it is read. */
export interface DeliveredMessage {
  readonly headers?: { get(name: string): string } | undefined;
  readonly subject: string;
  readonly seq: number;
  readonly info: { readonly timestampNanos: number };
  readonly data: Uint8Array;
}

/** Headers of a message, with its seal where there is a key to seal by. */
export function encodeMessageHeaders(
  { rules = FIRST_RULES, after = 0, ...rest }: OutgoingMessage,
  subject: string,
  seals: LogSeals | undefined,
) {
  const message = { ...rest, rules, after };
  const { origin, n, count } = message;
  return buildMessageHeaders({
    [ORIGIN]: origin,
    [NUMBER]: String(n),
    [COUNT]: String(count),
    [MESSAGE_RULES]: String(rules),
    [AFTER]: String(after),
    ...(seals && { [SEAL]: seals.computeMessageSeal(subject, message) }),
  });
}

/** Why the log whose first message has this origin is none of this bureau key; undefined where it may be. */
export function describeOtherKey(origin: string, key: string): string | undefined {
  const begun = parseRulesChange(origin);
  if (begun === undefined || begun.key === key) return undefined;
  return `the log was begun with the bureau key ${begun.key.slice(0, 16)}…, and this node has ${key.slice(0, 16)}…: copy \`bureau.key\` from a node's data directory into this one's`;
}

/** A message of the stream, whose seal is looked at where there is a key. */
export function decodeOrderedMessage(
  { headers, seq, info, data, subject }: DeliveredMessage,
  seals: LogSeals | undefined,
): OrderedMessage {
  const message = {
    origin: headers?.get(ORIGIN) ?? "",
    n: Number(headers?.get(NUMBER)),
    count: Number(headers?.get(COUNT)),
    rules: Number(headers?.get(MESSAGE_RULES)),
    after: Number(headers?.get(AFTER)),
    frames: data,
  };
  const isSealed = seals?.isMessageSealed(subject, message, headers?.get(SEAL) ?? "") ?? false;
  return { ...message, seq, timeMs: Math.floor(info.timestampNanos / 1e6), isSealed };
}
