// Cluster under attack: three nodes of the service and one server of its log, each a process on loopback, and a
// connection of somebody who has the credentials of that server and no key of the bureau.
import { connect, type MsgHdrs, type NatsConnection } from "@nats-io/transport-node";
import { jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerProcess } from "../../../bench/server-process.ts";
import { readJournal } from "../../cluster/history.ts";
import { NATS_SERVER, type Servers, startServers } from "../../stream/_nats.ts";
import type { Attack, Outcome } from "../attack.ts";
import { Lasting } from "../lasting.ts";
import { type AttackStage, delay } from "../stage.ts";

const NAMES = ["one", "two", "three"] as const;
const WAIT_MS_MAX = 60_000;
const ASK_MS = 200;
const REQUEST_MS = 10_000;
const SUBJECT = "trustrank.p0.g1";
export const STREAM = "trustrank_p0_g1";

/** A message of the log as its server keeps it. */
export interface KeptMessage {
  readonly seq: number;
  readonly headers: MsgHdrs;
  readonly data: Uint8Array;
}

/** An attack on a cluster of its own; skipped where there is no server of the log. */
export function defineClusterAttack(
  name: string,
  what: string,
  play: (cluster: AttackedCluster) => Promise<Outcome>,
): Attack {
  return {
    name,
    what,
    async play(stage) {
      if (NATS_SERVER === undefined) {
        return { broken: [], figures: {}, skipped: "nats-server: run .ci/programs.sh install" };
      }
      const cluster = await AttackedCluster.open(stage);
      try {
        const { broken, figures } = await play(cluster);
        const left = await cluster.findLastingHarm();
        return { broken: [...broken, ...left], figures };
      } finally {
        await cluster.close();
      }
    },
  };
}

export class AttackedCluster {
  readonly stage: AttackStage;
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly nodes: readonly Lasting[];
  services: ServerProcess[] = [];
  readonly #servers: Servers;

  private constructor(
    stage: AttackStage,
    servers: Servers,
    connection: NatsConnection,
    manager: JetStreamManager,
  ) {
    this.stage = stage;
    this.#servers = servers;
    this.connection = connection;
    this.manager = manager;
    this.nodes = NAMES.map((name) => {
      return new Lasting({
        TRUSTRANK_CLUSTER: servers.addresses.join(),
        TRUSTRANK_CLUSTER_MONITOR: servers.monitors.join(),
        TRUSTRANK_CLUSTER_NODE: name,
        TRUSTRANK_CLUSTER_STREAM_GB: "1",
      });
    });
  }

  static async open(stage: AttackStage): Promise<AttackedCluster> {
    const servers = await startServers();
    const connection = await connect({ servers: servers.addresses });
    const manager = await jetstreamManager(connection);
    const cluster = new AttackedCluster(stage, servers, connection, manager);
    const [first, ...others] = cluster.nodes;
    cluster.services = [await first!.start()];
    for (const node of others) {
      copyFileSync(join(first!.dataDir, "bureau.key"), join(node.dataDir, "bureau.key"));
      cluster.services.push(await node.start());
    }
    for (const at of NAMES.keys()) await cluster.recordOutcome(at);
    return cluster;
  }

  /** As a program does that knows the log's subject. */
  async publish(data: Uint8Array, headers: MsgHdrs): Promise<void> {
    await this.connection.request(SUBJECT, data, { headers, timeout: REQUEST_MS });
  }

  /** Every message of the log that is kept, in order. */
  async readLog(): Promise<KeptMessage[]> {
    const { state } = await this.manager.streams.info(STREAM);
    const found: KeptMessage[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
      const message = await this.manager.streams.getMessage(STREAM, { seq });
      if (message !== null) found.push({ seq, headers: message.header, data: message.data });
    }
    return found;
  }

  /** Rejects unless that node takes an outcome. */
  async recordOutcome(at: number): Promise<void> {
    const body = { subject: "agent://shop/s", reporter: "agent://buyers/b", outcome: 1, stakes: 5 };
    const path = "/v1/outcomes";
    const reply = await this.stage.ask(this.services[at]!, path, {
      body: { ...body, grade: "counterparty" },
    });
    if (reply.status !== 201) throw new Error(`an outcome at node ${NAMES[at]}: ${reply.status}`);
  }

  /** Sentences on nodes whose `/readyz` does not come to hold `text` in time. */
  async findUntold(text: string): Promise<string[]> {
    const untold = await Promise.all(
      NAMES.map(async (name, at) => {
        const isTold = await this.until(async () => {
          return (await this.stage.ask(this.services[at]!, "/readyz")).text.includes(text);
        });
        return isTold ? [] : [`/readyz of node ${name} does not say \`${text}\``];
      }),
    );
    return untold.flat();
  }

  /** Whether it came true in time. */
  async until(isMet: () => Promise<boolean>): Promise<boolean> {
    const deadline = performance.now() + WAIT_MS_MAX;
    while (performance.now() < deadline) {
      if (await isMet().catch(() => false)) return true;
      await delay(ASK_MS);
    }
    return false;
  }

  /**
   * What is left of an attack: a node that ended, takes no outcome or does not start again after `kill -9`, and
   * journals that differ.
   */
  async findLastingHarm(): Promise<string[]> {
    const broken: string[] = [];
    for (const isRestarted of [false, true]) {
      const when = isRestarted ? "after a restart" : "before a restart";
      for (const [at, name] of NAMES.entries()) {
        try {
          if (isRestarted) this.services[at] = await this.nodes[at]!.start();
          await this.recordOutcome(at);
        } catch (error) {
          broken.push(`node ${name} ${when}: ${(error as Error).message}`);
        }
      }
      if (broken.length > 0) return broken;
      if (!(await this.until(() => this.#haveSettled())))
        broken.push(`${when} the journals differ in length`);
      await Promise.all(this.nodes.map((node) => node.kill()));
      const journals = this.nodes.map(({ dataDir }) => readJournal(dataDir).bytes);
      if (new Set(journals).size > 1) broken.push(`${when} the journals differ`);
    }
    return broken;
  }

  /** Whether the journals are of one length, and stay so for a second. */
  async #haveSettled(): Promise<boolean> {
    const places = () => this.nodes.map(({ dataDir }) => readJournal(dataDir).lsn);
    const before = places();
    await delay(1000);
    return new Set([...before, ...places()]).size === 1;
  }

  async close(): Promise<void> {
    await this.connection.close();
    for (const node of this.nodes) await node.close();
    await this.#servers.stop();
  }
}
