// Nodes of a real cluster for tests: nats-server and the service, each a process on loopback, all of them
// ended with the test. Debian's nats-server is too old before release 13: `.ci/nats-server.sh` unpacks one.
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ENTRY } from "../../cli/_process.ts";
import { freePorts } from "../../_ports.ts";
import { NATS_SERVER } from "../../stream/_nats.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
export const ADMIN_KEY = "adminadminadminadmin0123456789abcd";
const START_MS = 30_000;

export interface Node {
  readonly url: string;
  readonly dataDir: string;
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
      const group = `cluster { name: tr, host: 127.0.0.1, port: ${ports[2 * size + index]}, routes: [${routes.join(", ")}] }`;
      writeFileSync(
        file,
        `server_name: n${index}\nhost: 127.0.0.1\nport: ${port}\nhttp: "127.0.0.1:${monitor}"\nmax_payload: 8MB\n` +
          `jetstream { store_dir: "${store}", max_file: 2GB, sync_interval: always }\n${size > 1 ? group : ""}\n`,
      );
      return { port, monitor, file, process: cluster.#spawn(NATS_SERVER!, ["-c", file], {}) };
    });
    return cluster;
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

  /** Ends a server, and starts it over an empty disk. */
  async wipe(index: number): Promise<void> {
    const { process: child } = this.#servers[index]!;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    rmSync(path.join(this.#directory, `s${index}`), { recursive: true });
    this.restart(index);
  }

  /** Where a node of this name has its data. */
  directoryOf(name: string): string {
    return path.join(this.#directory, name);
  }

  /** Settings that name its servers. */
  get environment(): Record<string, string> {
    const at = (port: number) => `127.0.0.1:${port}`;
    return {
      TRUSTRANK_CLUSTER: this.#servers.map((each) => at(each.port)).join(","),
      TRUSTRANK_CLUSTER_MONITOR: this.#servers
        .map((each) => `http://${at(each.monitor)}`)
        .join(","),
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
        ...environment,
      },
    );
    await listening(url, child);
    return {
      url,
      dataDir,
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
