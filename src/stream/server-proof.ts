// Proof that every server of the log keeps what it acknowledges: its release and its setting, read from its
// monitoring page before anything is written.
import { ClusterRefused, StreamUnavailable } from "./ordered-log.ts";

/** Earlier releases sync the stream but not the log of their elections (nats-server#6041). */
export const NATS_VERSION_MIN = "2.10.23";
const TIMEOUT_MS = 3000;

interface Varz {
  readonly version?: string;
  readonly server_name?: string;
  readonly max_payload?: number;
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } };
}

export interface ServerFacts {
  readonly monitor: string;
  readonly name: string;
  readonly version: string;
  readonly hasJetStream: boolean;
  readonly isSynced: boolean;
  readonly payloadBytesMax: number;
}

/** @throws StreamUnavailable when the page does not answer. */
export async function fetchServerFacts(monitor: string): Promise<ServerFacts> {
  const url = new URL("/varz", monitor);
  let varz: Varz;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    varz = (await response.json()) as Varz;
  } catch (error) {
    const why = (error as Error).message;
    throw new StreamUnavailable(
      `${url.href} does not answer (${why}): start nats-server with \`http: 8222\`, or name its monitoring address in TRUSTRANK_CLUSTER_MONITOR`,
      { cause: error },
    );
  }
  return {
    monitor,
    name: varz.server_name ?? monitor,
    version: varz.version ?? "",
    hasJetStream: varz.jetstream?.config !== undefined,
    isSynced: varz.jetstream?.config?.sync_always === true,
    payloadBytesMax: varz.max_payload ?? 0,
  };
}

/** The sentence that says what is wrong with a server and mends it; undefined when nothing is. */
export function describeServerFault(
  server: ServerFacts,
  messageBytesMax: number,
): string | undefined {
  const { name, version, hasJetStream, isSynced, payloadBytesMax } = server;
  if (!isVersionAtLeast(version, NATS_VERSION_MIN)) {
    return `${name} is nats-server ${version || "of an unknown release"}: acknowledged outcomes would be lost in a power cut; install ${NATS_VERSION_MIN} or later`;
  }
  if (!hasJetStream) {
    return `${name} runs without JetStream: give it a \`jetstream\` block with \`store_dir\` and \`sync_interval: always\``;
  }
  if (!isSynced) {
    return `${name} acknowledges before it has synced: set \`sync_interval: always\` in its \`jetstream\` block and restart it`;
  }
  if (payloadBytesMax < messageBytesMax) {
    return `${name} takes messages of ${payloadBytesMax} bytes: set \`max_payload: 8MB\` and reload it`;
  }
  return undefined;
}

/**
 * Proves those that answer, which must be most of them. `silent` gets the others: they are proved once
 * they are back.
 * @throws ClusterRefused naming the first server that may lose what it acknowledges.
 * @throws StreamUnavailable when half of them or more do not answer.
 */
export async function verifyServers(
  monitors: readonly string[],
  messageBytesMax: number,
  silent: (monitor: string, error: Error) => void = () => undefined,
): Promise<ServerFacts[]> {
  const asked = await Promise.allSettled(monitors.map((monitor) => fetchServerFacts(monitor)));
  const servers = asked.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  for (const server of servers) {
    const fault = describeServerFault(server, messageBytesMax);
    if (fault !== undefined) throw new ClusterRefused(fault);
  }
  for (const [at, answer] of asked.entries()) {
    if (answer.status === "fulfilled") continue;
    if (servers.length * 2 <= monitors.length) throw answer.reason;
    silent(monitors[at]!, answer.reason as Error);
  }
  return servers;
}

function isVersionAtLeast(version: string, least: string): boolean {
  const [found, wanted] = [version, least].map((text) =>
    text.split("-")[0]!.split(".").map(Number),
  );
  for (const [index, part] of wanted!.entries()) {
    const other = found![index] ?? Number.NaN;
    if (Number.isNaN(other)) return false;
    if (other !== part) return other > part;
  }
  return true;
}
