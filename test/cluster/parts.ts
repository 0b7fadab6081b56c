// The six processes of a chaos run: three servers of the ordered log, three nodes of the service. Each is started,
// killed, frozen, and started again when it ends by itself, as an init system would.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ADMIN_KEY, COMMAND } from "../../bench/server-process.ts";
import { readPage, startUntilMet } from "../stream/_meeting.ts";
import { COUNT, type Kind, type Stage } from "./stage.ts";

const ASK_MS = 1000;
const RESTART_MS = 1000;
const CLOCK = new URL("../attack/set-clock.ts", import.meta.url).href;

abstract class Part {
  abstract readonly kind: Kind;
  readonly at: number;
  readonly stage: Stage;
  /** Ends that nobody asked for. */
  readonly unasked: string[] = [];
  #child: ChildProcess | undefined;
  #isWanted = false;

  constructor(stage: Stage, at: number) {
    this.stage = stage;
    this.at = at;
  }

  get name(): string {
    return `${this.kind} ${this.at + 1}`;
  }

  get logFile(): string {
    return path.join(this.stage.folder, "logs", `${this.kind}-${this.at}.log`);
  }

  protected abstract command(): readonly string[];
  protected abstract environment(): NodeJS.ProcessEnv;
  abstract isWell(): Promise<boolean>;

  start(): void {
    this.#isWanted = true;
    mkdirSync(path.dirname(this.logFile), { recursive: true });
    const { stage, kind, at } = this;
    const log = openSync(this.logFile, "a");
    const child = stage.start(kind, at, this.command(), this.environment(), log);
    this.#child = child;
    child.on("exit", (code, signal) => {
      if (this.#child !== child || !this.#isWanted) return;
      this.unasked.push(`${this.name} ended with ${code ?? signal}`);
      setTimeout(() => this.#isWanted && this.#child === child && this.start(), RESTART_MS);
    });
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  /** Resolves once it has ended. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#isWanted = false;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
}

export class LogServer extends Part {
  readonly kind = "server";
  readonly program: string;
  /** Before each acknowledgement, or after so long. */
  readonly sync: string;

  constructor(stage: Stage, at: number, program: string, sync: string) {
    super(stage, at);
    this.program = program;
    this.sync = sync;
  }

  get address(): string {
    return `${this.stage.host("server", this.at)}:${this.stage.port(`client${this.at}`, 4222)}`;
  }

  get monitor(): string {
    return `http://${this.stage.host("server", this.at)}:${this.stage.port(`monitor${this.at}`, 8222)}`;
  }

  protected command(): readonly string[] {
    const { stage, at } = this;
    const file = path.join(stage.folder, `server-${at}.conf`);
    const routes = Array.from({ length: COUNT }, (_, other) => {
      return `nats://${stage.host("server", other)}:${stage.port(`route${other}`, 6222)}`;
    });
    const host = stage.host("server", at);
    const lines = [
      `server_name: s${at}`,
      `host: ${host}`,
      `port: ${stage.port(`client${at}`, 4222)}`,
      `http: "${new URL(this.monitor).host}"`,
      "max_payload: 8MB",
      `log_file: "${this.logFile}"`,
      `jetstream { store_dir: "${stage.disk("server", at)}", max_file: 8GB, max_mem: 64MB, sync_interval: ${this.sync} }`,
      `cluster { name: chaos, host: ${host}, port: ${stage.port(`route${at}`, 6222)}, routes: [${routes.join(", ")}] }`,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    return [this.program, "-c", file];
  }

  protected environment(): NodeJS.ProcessEnv {
    return process.env;
  }

  async isWell(): Promise<boolean> {
    return (await readPage(`${this.monitor}/healthz`))?.["status"] === "ok";
  }
}

export class ServiceNode extends Part {
  readonly kind = "node";
  readonly servers: readonly LogServer[];
  readonly #key: string;

  constructor(stage: Stage, at: number, servers: readonly LogServer[], key: string) {
    super(stage, at);
    this.servers = servers;
    this.#key = key;
  }

  /** Makes its data directory, with the cluster's signing key in it. */
  prepare(): void {
    mkdirSync(this.dataDir, { recursive: true });
    const file = path.join(this.dataDir, "bureau.key");
    writeFileSync(file, this.#key, { mode: 0o600, flush: true });
  }

  get url(): string {
    return `http://${this.stage.front(this.at)}:${this.stage.port(`http${this.at}`, 8080)}`;
  }

  get dataDir(): string {
    return path.join(this.stage.disk("node", this.at), "data");
  }

  /** Makes the node's clock wrong by so many ms. */
  skew(ms: number): void {
    writeFileSync(this.#clockFile, String(ms));
  }

  get #clockFile(): string {
    return path.join(this.stage.folder, `clock-${this.at}`);
  }

  protected command(): readonly string[] {
    const { hostname, port } = new URL(this.url);
    const node = [process.execPath, "--disable-warning=ExperimentalWarning", `--import=${CLOCK}`];
    const listening = ["--port", port, "--host", hostname];
    return [...node, COMMAND, "serve", ...listening, "--data-dir", this.dataDir, "--no-sample"];
  }

  protected environment(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      TRUSTRANK_ADMIN_KEY: ADMIN_KEY,
      TRUSTRANK_DRAIN_MS: "0",
      TRUSTRANK_CLUSTER: this.servers.map(({ address }) => address).join(","),
      TRUSTRANK_CLUSTER_MONITOR: this.servers.map(({ monitor }) => monitor).join(","),
      TRUSTRANK_CLUSTER_NODE: `n${this.at}`,
      TRUSTRANK_CLUSTER_STREAM_GB: "1",
      ...(this.servers[0]!.sync !== "always" && { TRUSTRANK_CLUSTER_UNSAFE: "1" }),
      TRUSTRANK_DISK_RESERVE_MB: "4",
      TRUSTRANK_ATTACK_CLOCK: this.#clockFile,
    };
  }

  async isWell(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(ASK_MS) })).ok;
    } catch {
      return false;
    }
  }

  /** Events of the log that are warnings or worse, counted. */
  warnings(): Map<string, number> {
    const found = new Map<string, number>();
    for (const line of readFileSync(this.logFile, "utf8").split("\n")) {
      const event = /"level":"(?:warn|error|fatal)".*?"message":"([^"]+)"/.exec(line)?.[1];
      if (event !== undefined) found.set(event, (found.get(event) ?? 0) + 1);
    }
    return found;
  }
}

export interface StreamState {
  readonly leader: number;
  readonly lastSeq: number;
}

interface StreamDetail {
  readonly name: string;
  readonly cluster?: { readonly leader?: string; readonly replicas?: readonly unknown[] };
  readonly state: { readonly last_seq: number };
}

/** Leader and newest place of the log, as its servers tell; undefined while none leads. */
export async function streamState(servers: readonly LogServer[]): Promise<StreamState | undefined> {
  const asked = servers.map(async ({ monitor }, at) => {
    const page = await readPage(`${monitor}/jsz?streams=1&accounts=1`);
    const accounts = (page?.["account_details"] ?? []) as { stream_detail?: StreamDetail[] }[];
    const streams = accounts.flatMap((account) => account.stream_detail ?? []);
    const stream = streams.find(({ name }) => name.includes("_p0_g"));
    const { leader, replicas = [] } = stream?.cluster ?? {};
    // A server that is starting says that it leads alone, of what its own disk has.
    const isLed = leader === `s${at}` && replicas.length === servers.length - 1;
    return isLed ? [{ leader: at, lastSeq: stream!.state.last_seq }] : [];
  });
  return (await Promise.all(asked)).flat()[0];
}

/** Starts servers for the first time; `renew` empties the store of one. */
export async function startServers(
  servers: readonly LogServer[],
  renew: (server: LogServer) => void,
): Promise<void> {
  await startUntilMet({
    monitors: servers.map(({ monitor }) => monitor),
    start: () => servers.forEach((server) => server.start()),
    clear: async () => {
      for (const server of servers) {
        await server.end("SIGKILL");
        renew(server);
      }
    },
  });
}

/** Resolves with the ms until it was so; rejects with the sentence when it is not for too long. */
export async function until(
  isSo: () => Promise<boolean> | boolean,
  sentence: string,
  msMax = 120_000,
): Promise<number> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > msMax) throw new Error(`${sentence}, after ${msMax} ms`);
    await wait(100);
  }
  return performance.now() - startedAt;
}
