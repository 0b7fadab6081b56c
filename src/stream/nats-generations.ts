// Generations of a cluster's log: the streams that are there, and which of them nodes of this cluster have written.
// A holder of the credentials of the log's servers can make a stream of any name.
import type { JetStreamManager } from "./nats-jetstream.ts";
import {
  buildStreamConfig,
  decodeOrderedMessage,
  describeMissingStream,
  describeReplicaShortage,
  describeStreamFault,
} from "./nats-stream.ts";
import { ClusterRefused } from "./ordered-log.ts";
import { isStreamMissing } from "./retries.ts";
import { type ClusterSecret, LogSeals } from "./seal.ts";

const GENERATION = /^[1-9]\d{0,8}$/;

export interface LogGenerations {
  /** The one that nodes follow; 0 where there is none. */
  readonly newest: number;
  /** Higher ones that no node of this cluster has written. */
  readonly invented: readonly number[];
  /** Whether there is a stream of that generation. */
  isThere(generation: number): boolean;
}

export interface GenerationSearch {
  readonly manager: JetStreamManager;
  /** Of the cluster. */
  readonly name: string;
  /** Left out: nothing can be proven. */
  readonly secret: ClusterSecret | undefined;
  /** Those that sealed reports of nodes name. */
  readonly reported: ReadonlySet<unknown>;
}

export function formatStreamName(name: string, generation: number): string {
  return `${name}_p0_g${generation}`;
}

export function formatSubject(name: string, generation: number): string {
  return `${name}.p0.g${generation}`;
}

interface LogStreamSettings {
  /** Of the cluster. */
  readonly name: string;
  readonly servers: readonly string[];
  readonly generation: number;
  readonly replicas: number;
  /** Bound of the stream in bytes. */
  readonly bytesMax: number;
  readonly onlyReads?: boolean;
  readonly log: (event: string, detail: string) => void;
}

/**
 * Makes the stream of a generation where there is none.
 * @throws ClusterRefused where it may not be made, or may not serve as the log; the server's error.
 */
export async function openLogStream(
  manager: JetStreamManager,
  settings: LogStreamSettings,
): Promise<void> {
  const { generation, replicas, bytesMax, onlyReads = false, log } = settings;
  const name = formatStreamName(settings.name, generation);
  const subject = formatSubject(settings.name, generation);
  const found = await findStreamConfig(manager, name);
  if (found === undefined && onlyReads) throw new ClusterRefused(describeMissingStream(settings));
  if (found === undefined) {
    await manager.streams.add(buildStreamConfig({ name, subject, replicas, bytesMax }));
    return;
  }
  const fault = describeStreamFault(found);
  if (fault !== undefined) throw new ClusterRefused(fault);
  if (onlyReads) return;
  const doubt = describeReplicaShortage(found, replicas);
  if (doubt !== undefined) log("stream_doubtful", doubt);
  // The highest bound that any node was given holds: no node takes room from the others.
  if (found.max_bytes > 0 && found.max_bytes < bytesMax) {
    await manager.streams.update(name, { max_bytes: bytesMax });
    log("stream_bound_raised", `from ${found.max_bytes} to ${bytesMax} bytes`);
  }
}

async function findStreamConfig(manager: JetStreamManager, stream: string) {
  try {
    return (await manager.streams.info(stream)).config;
  } catch (error) {
    if (isStreamMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Followed is the highest that a sealed report names, or whose first or newest message is sealed. Where there is no
 * such, as in a log of an earlier release, it is the highest of all.
 * @throws the server's error.
 */
export async function findGenerations(search: GenerationSearch): Promise<LogGenerations> {
  const { manager, name, reported } = search;
  const prefix = formatStreamName(name, 0).slice(0, -1);
  const found: number[] = [];
  for await (const stream of manager.streams.names()) {
    const number = stream.startsWith(prefix) ? stream.slice(prefix.length) : "";
    if (GENERATION.test(number)) found.push(Number(number));
  }
  found.sort((a, b) => b - a);
  let newest: number | undefined;
  for (const generation of found) {
    if (!reported.has(generation) && !(await holdsSealedMessage(search, generation))) continue;
    newest = generation;
    break;
  }
  return {
    newest: newest ?? found[0] ?? 0,
    invented: found.filter((each) => newest !== undefined && each > newest),
    isThere: (generation) => found.includes(generation),
  };
}

async function holdsSealedMessage(
  { manager, name, secret }: GenerationSearch,
  generation: number,
): Promise<boolean> {
  if (secret === undefined) return false;
  const stream = formatStreamName(name, generation);
  const seals = new LogSeals(secret, name, generation);
  const { messages, first_seq: first, last_seq: last } = (await manager.streams.info(stream)).state;
  if (messages === 0) return false;
  for (const seq of [first, last]) {
    if ((await readMessage(manager, stream, seq, seals))?.isSealed === true) return true;
  }
  return false;
}

/** Undefined where there is none at that place. */
export async function readMessage(
  manager: JetStreamManager,
  stream: string,
  seq: number,
  seals: LogSeals | undefined,
) {
  const found = await manager.streams.getMessage(stream, { seq });
  if (found === null) return undefined;
  const { header: headers, subject, data, time } = found;
  const info = { timestampNanos: time.getTime() * 1e6 };
  return decodeOrderedMessage({ headers, subject, data, seq, info }, seals);
}
