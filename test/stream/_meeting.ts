// Servers of a log that start for the first time. Those that start at the same moment may elect one that never hears
// of another ("no suitable peers for placement", seen with 2.10.27); then they begin again over empty stores.
import { setTimeout as sleep } from "node:timers/promises";

const ASK_MS = 1000;
/** After which servers that have not found one another begin again. */
const MEET_MS = 15_000;
const STARTS_MAX = 3;

export interface MeetingServers {
  /** Addresses of their pages. */
  readonly monitors: readonly string[];
  start(): void;
  /** Ends them all and empties their stores. */
  clear(): Promise<void>;
}

interface MetaCluster {
  readonly leader?: string;
  readonly replicas?: readonly { readonly offline?: boolean; readonly current?: boolean }[];
}

/** Starts servers and resolves once the one that leads them has heard of all the others. */
export async function startUntilMet(servers: MeetingServers): Promise<void> {
  for (let tries = 1; ; tries++) {
    servers.start();
    const until = performance.now() + MEET_MS * tries;
    while (performance.now() < until) {
      if (await areMet(servers.monitors)) return;
      await sleep(100);
    }
    if (tries === STARTS_MAX) throw new Error("the servers of the log do not find one another");
    await servers.clear();
  }
}

async function areMet(monitors: readonly string[]): Promise<boolean> {
  const pages = await Promise.all(monitors.map((monitor) => readPage(`${monitor}/jsz`)));
  const metas = pages.map((page) => page?.["meta_cluster"] as MetaCluster | undefined);
  const isLed = metas.every((meta) => meta?.leader !== undefined && meta.leader !== "");
  return isLed && metas.some((meta) => countCurrent(meta!) === monitors.length - 1);
}

function countCurrent({ replicas = [] }: MetaCluster): number {
  return replicas.filter(({ offline, current }) => offline !== true && current === true).length;
}

/** A server's page; undefined while it does not answer. */
export async function readPage(url: string): Promise<Record<string, unknown> | undefined> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(ASK_MS) });
    return (await reply.json()) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
