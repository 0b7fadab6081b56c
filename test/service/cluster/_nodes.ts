// Nodes of a real cluster for tests: nats-server and the service, each a process on loopback, all of them
// ended with the test. Debian's nats-server is too old before release 13: `.ci/nats-server.sh` unpacks one.
import { type ChildProcess, spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ENTRY } from "../../cli/_process.ts";
import { freePorts } from "../../_ports.ts";
import { startUntilMet } from "../../stream/_meeting.ts";
import { NATS_SERVER } from "../../stream/_nats.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
export const ADMIN_KEY = "adminadminadminadmin0123456789abcd";
const START_MS = 30_000;

export interface Node {
  readonly url: string;
  readonly dataDir: string;
  /** Headers of the operator's requests. */
  readonly operator: Readonly<Record<string, string>>;
  /** The answer's status and document. */
  ask<T = Record<string, unknown>>(
    method: string,
    route: string,
    body?: unknown,
    key?: string,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: T }>;
  /** Resolves once it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

export class Cluster {
  readonly #directory = mkdtempSync(path.join(tmpdir(), "trustrank-cluster-"));
  readonly #processes = new Set<ChildProcess>();
  #servers: readonly { port: number; monitor: number; file: string; process: ChildProcess }[] = [];
  #key: string | undefined;

  static async open(size = 1): Promise<Cluster> {
    const cluster = new Cluster();
    const ports = await freePorts(size * 3);
    const routes = ports.slice(2 * size).map((port) => `nats://127.0.0.1:${port}`);
    cluster.#servers = Array.from({ length: size }, (_, index) => {
      const [port, monitor] = [ports[index]!, ports[size + index]!];
      const file = path.join(cluster.#directory, `n${index}.conf`);
      const store = path.join(cluster.#directory, `s${index}`);
      const group = `cluster { name: tr, no_advertise: true, host: 127.0.0.1, port: ${ports[2 * size + index]}, routes: [${routes.join(", ")}] }`;
      writeFileSync(
        file,
        `server_name: n${index}\nhost: 127.0.0.1\nport: ${port}\nhttp: "127.0.0.1:${monitor}"\nmax_payload: 8MB\n` +
          `jetstream { store_dir: "${store}", max_file: 2GB, sync_interval: always }\n${size > 1 ? group : ""}\n`,
      );
      return { port, monitor, file, process: cluster.#spawn(NATS_SERVER!, ["-c", file], {}) };
    });
    return cluster;
  }

  /** Until the servers have met and one of them leads. */
  async elected(): Promise<void> {
    await startUntilMet({
      monitors: this.#servers.map(({ monitor }) => `http://127.0.0.1:${monitor}`),
      start: () => {
        for (const [index, { process: child }] of this.#servers.entries())
          if (child.exitCode !== null || child.signalCode !== null) this.restart(index);
      },
      clear: async () => {
        for (const index of this.#servers.keys()) {
          await this.#end(index);
          rmSync(path.join(this.#directory, `s${index}`), { recursive: true, force: true });
        }
      },
    });
  }

  server(index: number): ChildProcess {
    return this.#servers[index]!.process;
  }

  /** Starts a server over its directory again. */
  restart(index: number): void {
    const { file } = this.#servers[index]!;
    const process = this.#spawn(NATS_SERVER!, ["-c", file], {});
    this.#servers = this.#servers.map((each, at) => (at === index ? { ...each, process } : each));
  }

  /** Starts a server again over its directory, with no way to the others. */
  async isolate(index: number): Promise<void> {
    await this.#end(index);
    const { file } = this.#servers[index]!;
    const whole = readFileSync(file, "utf8");
    writeFileSync(`${file}.whole`, whole);
    const [port] = await freePorts(1);
    const alone = whole
      .replace(/(cluster \{.*port: )\d+/, `$1${port}`)
      // A server needs a route to stay one of a cluster: this one leads to itself.
      .replace(/routes: \[.*\]/, `routes: [nats://127.0.0.1:${port}]`);
    writeFileSync(file, alone);
    this.restart(index);
  }

  /** Gives an isolated server its way to the others back. */
  async rejoin(index: number): Promise<void> {
    await this.#end(index);
    const { file } = this.#servers[index]!;
    writeFileSync(file, readFileSync(`${file}.whole`, "utf8"));
    this.restart(index);
  }

  async #end(index: number): Promise<void> {
    const { process: child } = this.#servers[index]!;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  /** Ends a server, and starts it over an empty disk. */
  async wipe(index: number): Promise<void> {
    await this.#end(index);
    rmSync(path.join(this.#directory, `s${index}`), { recursive: true });
    this.restart(index);
  }

  /** Where a node of this name has its data. */
  directoryOf(name: string): string {
    return path.join(this.#directory, name);
  }

  /** Settings that name its servers. */
  get environment(): Record<string, string> {
    return this.environmentOf(...this.#servers.keys());
  }

  /** Settings that name some of its servers. */
  environmentOf(...indexes: readonly number[]): Record<string, string> {
    const servers = indexes.map((index) => this.#servers[index]!);
    const at = (port: number) => `127.0.0.1:${port}`;
    return {
      TRUSTRANK_CLUSTER: servers.map((each) => at(each.port)).join(","),
      TRUSTRANK_CLUSTER_MONITOR: servers.map((each) => `http://${at(each.monitor)}`).join(","),
      TRUSTRANK_CLUSTER_STREAM_GB: "1",
    };
  }

  /** Starts a node over its directory, with the key of the first. Resolves once it listens. */
  async node(name: string, environment: Record<string, string> = {}): Promise<Node> {
    const dataDir = this.directoryOf(name);
    mkdirSync(dataDir, { recursive: true });
    const keyFile = path.join(dataDir, "bureau.key");
    if (this.#key === undefined) this.#key = keyFile;
    else if (!existsSync(keyFile)) copyFileSync(this.#key, keyFile);
    const [port] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const child = this.#spawn(
      process.execPath,
      [
        "--disable-warning=ExperimentalWarning",
        ENTRY,
        "serve",
        "--port",
        `${port}`,
        "--data-dir",
        dataDir,
      ],
      {
        ...this.environment,
        TRUSTRANK_CLUSTER_NODE: name,
        TRUSTRANK_ADMIN_KEY: ADMIN_KEY,
        MALLOC_ARENA_MAX: "2",
        TRUSTRANK_DRAIN_MS: "0",
        ...environment,
      },
    );
    await listening(url, child);
    return {
      url,
      dataDir,
      operator: { authorization: `Bearer ${ADMIN_KEY}` },
      ask: async (method, route, body, key = ADMIN_KEY, headers = {}) => {
        const response = await fetch(`${url}${route}`, {
          method,
          headers: {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as never };
      },
      signal: (signal) => void child.kill(signal),
      kill: async (signal) => {
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill(signal);
        await ended;
      },
    };
  }

  async close(): Promise<void> {
    const ended = [...this.#processes].map(
      (child) => new Promise((resolve) => child.once("exit", resolve)),
    );
    for (const child of this.#processes) {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
    }
    await Promise.all(ended);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #spawn(
    command: string,
    args: readonly string[],
    environment: Record<string, string>,
  ): ChildProcess {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: { ...process.env, ...environment },
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.on("data", (bytes: Buffer) => {
      if (process.env["TRUSTRANK_TEST_NOISE"]) process.stderr.write(bytes);
    });
    this.#processes.add(child);
    child.once("exit", () => this.#processes.delete(child));
    return child;
  }
}

async function listening(url: string, child: ChildProcess): Promise<void> {
  let said = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    said = `${said}${bytes.toString()}`.slice(-2000);
  });
  const until = performance.now() + START_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the node ended with ${child.exitCode}: ${said}`);
    const isUp = await fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    if (performance.now() > until) throw new Error("the node does not listen");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
