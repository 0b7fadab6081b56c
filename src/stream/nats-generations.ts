// Generations of a cluster's log: the streams that are there, and which of them nodes of this cluster have written.
// Whoever has the credentials of the log's servers may make a stream of any name.
import type { JetStreamManager } from "./nats-jetstream.ts";
import { decodeOrderedMessage } from "./nats-stream.ts";
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
  const { header: headers, subject, data } = found;
  return decodeOrderedMessage({ headers, subject, data, seq, info: { timestampNanos: 0 } }, seals);
}
