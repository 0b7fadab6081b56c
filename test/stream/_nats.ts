// Real servers of the ordered log for tests: one or three nats-server on free loopback ports, to be killed, paused
// and started again. The kernel kills them with the process of the tests, however that ends.
import { type ChildProcess, spawnSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type NatsOrderedLog, type NatsSettings, openNatsLog } from "../../src/stream/nats-log.ts";
import type { OrderedLog } from "../../src/stream/ordered-log.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { freePorts } from "../_ports.ts";
import { startUntilMet } from "./_meeting.ts";

const ROOT = join(import.meta.dirname, "../..");
const ASK_MS = 5000;
/** Lines of a server's output in the error of one that is not up. */
const OUTPUT_LINES = 10;
const found = spawnSync(join(ROOT, ".ci/nats-server.sh"), ["--find"], { encoding: "utf8" });

/** A server that syncs before it acknowledges; undefined where there is none: `needs("nats-server")`. */
export const NATS_SERVER = found.status === 0 ? found.stdout.trim() : undefined;

const own = join(ROOT, "build/nats/own/usr/sbin/nats-server");
/** One that does not; undefined where this Debian's own one does. */
export const NATS_SERVER_OLD = existsSync(own) && own !== NATS_SERVER ? own : undefined;

export interface ServersOptions {
  readonly size?: 1 | 3;
  /** Left out: before every acknowledgement. */
  readonly sync?: "always" | "default";
  readonly program?: string;
  readonly payloadMax?: string;
  /** Lines for the configuration of each server. */
  readonly more?: string;
  /** One store directory for each server. */
  readonly stores?: readonly string[];
  readonly hasMonitor?: boolean;
  readonly hasJetStream?: boolean;
}

interface Ports {
  readonly client: number;
  readonly route: number;
  readonly monitor: number;
}

/** Servers that are up and elect, if there are three. */
export async function startServers(options: ServersOptions = {}): Promise<Servers> {
  const size = options.size ?? 1;
  const free = await freePorts(size * 3);
  const ports = Array.from({ length: size }, (_, index) => {
    const [client, route, monitor] = free.slice(index * 3);
    return { client: client!, route: route!, monitor: monitor! };
  });
  const servers = new Servers(options, ports);
  try {
    await servers.startAll();
  } catch (error) {
    await servers.stop();
    throw error;
  }
  return servers;
}

export class Servers {
  readonly directory = mkdtempSync(join(tmpdir(), "trustrank-nats-"));
  readonly #options: ServersOptions;
  readonly #ports: readonly Ports[];
  readonly #processes: (ChildProcess | undefined)[] = [];
  readonly #logs: NatsOrderedLog[] = [];

  constructor(options: ServersOptions, ports: readonly Ports[]) {
    this.#options = options;
    this.#ports = ports;
  }

  get addresses(): string[] {
    return this.#ports.map(({ client }) => `127.0.0.1:${client}`);
  }

  get monitors(): string[] {
    return this.#ports.map(({ monitor }) => `http://127.0.0.1:${monitor}`);
  }

  start(index: number): void {
    const path = join(this.directory, `${index}.conf`);
    writeFileSync(path, this.#configuration(index));
    const output = openSync(join(this.directory, `${index}.out`), "a");
    const program = this.#options.program ?? NATS_SERVER!;
    // With its parent the kernel ends it, stopped or not: nothing outlives the tests.
    const started = spawn("setpriv", ["--pdeathsig", "KILL", "--", program, "-c", path], {
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    this.#processes[index] = started;
  }

  /** `SIGKILL`, `SIGSTOP` or `SIGCONT`. */
  signal(index: number, name: NodeJS.Signals): void {
    this.#processes[index]!.kill(name);
  }

  async kill(index: number): Promise<void> {
    const process = this.#processes[index];
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return;
    process.kill("SIGKILL");
    await once(process, "exit");
  }

  /** Starts all for the first time: until every one answers and, of three, one leads that has heard of the others. */
  async startAll(): Promise<void> {
    const start = () => this.#ports.forEach((_, index) => this.start(index));
    if (this.#ports.length === 1) start();
    else {
      const clear = async () => {
        await Promise.all(this.#processes.map((_, index) => this.kill(index)));
        this.#ports.forEach((_, index) => {
          rmSync(this.#store(index), { recursive: true, force: true });
        });
      };
      await startUntilMet({ monitors: this.monitors, start, clear });
    }
    await this.ready();
  }

  /**
   * Until every server answers and one leads. Whether its streams have caught up is not asked: under appends that go
   * on, a server short of CPU may never be current.
   */
  async ready(): Promise<void> {
    const page = this.#options.hasMonitor === false ? undefined : "/healthz?js-server-only=true";
    const until = performance.now() + WAIT_MS_MAX;
    for (const [index, monitor] of (page === undefined ? [] : this.monitors).entries()) {
      while (!(await isOk(monitor + page))) {
        if (this.#hasEnded(index) || performance.now() > until) {
          throw new Error(`nats-server is not up: ${monitor}\n${this.#readOutput(index)}`);
        }
        await sleep(50);
      }
    }
    while (this.#ports.length > 1 && !(await this.#hasLeader())) {
      if (performance.now() > until) throw new Error("the servers have elected no leader");
      await sleep(50);
    }
  }

  #hasEnded(index: number): boolean {
    const { exitCode, signalCode } = this.#processes[index]!;
    return exitCode !== null || signalCode !== null;
  }

  /** The last lines that it printed: a port in use ends it, for one. */
  #readOutput(index: number): string {
    const path = join(this.directory, `${index}.out`);
    return readFileSync(path, "utf8").split("\n").slice(-OUTPUT_LINES).join("\n");
  }

  async #hasLeader(): Promise<boolean> {
    const pages = await Promise.all(
      this.monitors.map(async (monitor) => {
        const response = await fetch(`${monitor}/jsz`).catch(() => undefined);
        const page = (await response?.json()) as { meta_cluster?: Meta } | undefined;
        return page?.meta_cluster;
      }),
    );
    return pages.every((page) => page?.leader !== undefined && page.cluster_size === pages.length);
  }

  /** Another node's view of the log. It is closed with the servers. */
  async open(changes: Partial<NatsSettings> = {}): Promise<NatsOrderedLog> {
    const log = await openNatsLog({
      servers: this.addresses,
      name: "test",
      bytesMax: 64 * 1024 * 1024,
      log: () => undefined,
      ...changes,
    });
    this.#logs.push(log);
    return log;
  }

  /** Index of the server that leads the log. */
  async leaderOf(log: OrderedLog): Promise<number> {
    for (;;) {
      const { leader } = await log.readState().catch(() => ({ leader: undefined }));
      if (leader !== undefined && leader !== "") return Number(leader.slice(1));
      await sleep(100);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#logs.map((log) => log.close().catch(() => undefined)));
    await Promise.all(this.#processes.map((_, index) => this.kill(index)));
    rmSync(this.directory, { recursive: true, force: true });
  }

  #store(index: number): string {
    return this.#options.stores?.[index] ?? join(this.directory, `store-${index}`);
  }

  #configuration(index: number): string {
    const { sync = "always", payloadMax = "8MB", more = "", hasMonitor } = this.#options;
    const { client, route, monitor } = this.#ports[index]!;
    const store = this.#store(index);
    mkdirSync(store, { recursive: true });
    const routes = this.#ports.map((ports) => `nats://127.0.0.1:${ports.route}`);
    const interval = sync === "always" ? ", sync_interval: always" : "";
    const lines = [
      `server_name: n${index}`,
      `listen: "127.0.0.1:${client}"`,
      `max_payload: ${payloadMax}`,
      more,
    ];
    if (this.#options.hasJetStream !== false) {
      lines.push(`jetstream { store_dir: "${store}", max_file: 2GB, max_mem: 16MB${interval} }`);
    }
    if (hasMonitor !== false) lines.push(`http: "127.0.0.1:${monitor}"`);
    if (this.#ports.length > 1) {
      const listen = `listen: "127.0.0.1:${route}"`;
      lines.push(`cluster { name: test, ${listen}, routes: [${routes.join(", ")}] }`);
    }
    return lines.join("\n");
  }
}

interface Meta {
  readonly leader?: string;
  readonly cluster_size?: number;
}

async function isOk(url: string): Promise<boolean> {
  // One that stands still takes connections and never answers.
  const signal = AbortSignal.timeout(ASK_MS);
  const response = await fetch(url, { signal }).catch(() => undefined);
  return response?.ok ?? false;
}
