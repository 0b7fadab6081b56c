// Reports, names, leases and replies that somebody forges with the credentials of the log's server alone: they outvote
// no node, take nobody's name, refuse no start, and confirm no revocation.
import { headers } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import { type AttackedCluster, defineClusterAttack } from "../material/cluster.ts";
import { delay } from "../stage.ts";

const CHECKPOINT = 1000;
const GHOSTS = 4;
/** Longer than three of the intervals at which nodes report and compare. */
const COMPARED_MS = 16_000;

async function openBucket({ connection }: AttackedCluster, name: string): Promise<KV> {
  return new Kvm(jetstream(connection)).open(`trustrank_${name}`);
}

async function readEntries(bucket: KV): Promise<[key: string, value: string][]> {
  const keys: string[] = [];
  for await (const key of await bucket.keys()) keys.push(key);
  const found: [string, string][] = [];
  for (const key of keys) {
    const entry = await bucket.get(key);
    if (entry !== null) found.push([key, entry.string()]);
  }
  return found;
}

/** Own reports of all three nodes that hold a checkpoint; rejects when there are none in time. */
async function readReports(cluster: AttackedCluster, nodes: KV): Promise<Map<string, Report>> {
  let reports = new Map<string, Report>();
  const areThere = await cluster.until(async () => {
    reports = new Map(
      (await readEntries(nodes)).map(([name, text]) => [name, JSON.parse(text) as Report]),
    );
    return [...reports.values()].every(({ checkpoints }) => {
      return checkpoints.some(([place]) => place === CHECKPOINT);
    });
  });
  if (!areThere || reports.size < 3) throw new Error("the nodes report no checkpoint");
  return reports;
}

/** Ghosts outvote every node at a checkpoint, one of them under another bureau's key; old reports are sent again. */
async function forgeReports(nodes: KV, reports: ReadonlyMap<string, Report>): Promise<void> {
  const [own] = [...reports.values()];
  const checkpoints = [[CHECKPOINT, "ff".repeat(32)]];
  for (let at = 1; at <= GHOSTS; at += 1) {
    const key = at === GHOSTS ? "ab".repeat(32) : own!.key;
    const forged = { ...own, key, chain: "ee".repeat(32), checkpoints, atMs: Date.now() };
    await nodes.put(`ghost-${at}`, JSON.stringify(forged));
  }
  for (const report of reports.values()) await nodes.put("ghost-5", JSON.stringify(report));
}

/** Another process claims each node's name, and each of the cluster's jobs, with what stands there and more. */
async function forgeHolders(leases: KV): Promise<number> {
  const entries = await readEntries(leases);
  for (const [key, text] of entries) {
    let forged = "999999999";
    try {
      const holder = JSON.parse(text) as unknown;
      if (typeof holder === "object") {
        forged = JSON.stringify({ ...holder, directory: "forged", id: "forged", epoch: 1e9 });
      }
    } catch {
      // Not JSON: a lease's number.
    }
    await leases.put(key, forged);
  }
  return entries.length;
}

/** Revokes a key while node three stands still and somebody answers in its place. */
async function revokeBehindForgedReplies(cluster: AttackedCluster): Promise<string[]> {
  const { stage, services, connection } = cluster;
  await stage.makeKey(services[0]!, "shop", ["score:read"]);
  const listed = await stage.ask(services[0]!, "/v1/keys");
  const { keys } = JSON.parse(listed.text) as { keys: { key_id: string; tenant: string }[] };
  const { key_id: keyId } = keys.find(({ tenant }) => tenant === "shop")!;
  const answers = connection.subscribe("trustrank.applied", {
    callback: (_error, message) => {
      for (const name of ["three", "ghost-1"]) message.respond(name, { headers: headers() });
    },
  });
  process.kill(services[2]!.pid, "SIGSTOP");
  try {
    const revoked = await stage.ask(services[0]!, `/v1/keys/${keyId}`, { method: "DELETE" });
    const { effective } = JSON.parse(revoked.text) as { effective?: { missing?: string[] } };
    if (effective?.missing?.includes("three") === true) return [];
    return [`a frozen node counts as confirmed: ${revoked.status} ${revoked.text}`];
  } finally {
    process.kill(services[2]!.pid, "SIGCONT");
    answers.unsubscribe();
  }
}

export const forgedReport = defineClusterAttack(
  "forged-report",
  "reports, names, leases and replies of nodes are forged and sent again",
  async (cluster) => {
    const { stage, services } = cluster;
    const nodes = await openBucket(cluster, "nodes");
    const leases = await openBucket(cluster, "leases");
    // Nodes compare their journals at each thousandth message: some that nobody reads fill the places up to it.
    for (let at = 0; at <= CHECKPOINT; at += 1) await cluster.publish(Uint8Array.of(1), headers());
    const reports = await readReports(cluster, nodes);
    const broken = await revokeBehindForgedReplies(cluster);
    await forgeReports(nodes, reports);
    const holders = await forgeHolders(leases);
    await delay(COMPARED_MS);
    for (const [at, service] of services.entries()) {
      const isUp = await stage.ask(service, "/healthz").then(
        ({ status }) => status === 200,
        () => false,
      );
      if (!isUp) broken.push(`node ${at + 1} has ended`);
    }
    broken.push(...(await cluster.findUntold("ghost-1")));
    return { broken, figures: { forged_reports: GHOSTS + 1, forged_holders: holders } };
  },
);

interface Report {
  readonly key: string;
  readonly checkpoints: readonly (readonly [place: number, chain: string])[];
}
