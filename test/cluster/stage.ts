// Ground of a chaos run: a network of its own with a cable to each process, small disks, and the certainty
// that all of it ends with the tool. The tool runs itself again as the first process of namespaces of its own;
// where those are not permitted, everything is on the loopback, and no cable can be cut and no disk filled.
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";

export const KINDS = ["server", "node"] as const;
export type Kind = (typeof KINDS)[number];
export interface PartName {
  readonly kind: Kind;
  readonly at: number;
}
export const COUNT = 3;
/** The server and the node whose disk is small enough to fill. */
export const SMALL = 2;

/** Set for the run inside the namespaces. */
const INSIDE = "TRUSTRANK_CHAOS_INSIDE";
const NAMESPACES = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
const FILLER = "filler";
const PARENT_LOOK_MS = 1000;

/** Whether the network and the mounts are the tool's own. */
export function isInside(): boolean {
  return process.env[INSIDE] !== undefined;
}

/** How namespaces are made here; undefined where they may not be. */
function unsharing(): string[] | undefined {
  const asUser = ["--user", "--map-root-user", ...NAMESPACES];
  for (const flags of process.getuid?.() === 0 ? [NAMESPACES, asUser] : [asUser]) {
    const script =
      "mount -t tmpfs tmpfs /run && ip link add x type veth peer name y && command -v nsenter";
    try {
      execFileSync("unshare", [...flags, "sh", "-c", script], { stdio: "ignore" });
      return flags;
    } catch {
      // Not so, then.
    }
  }
  return undefined;
}

/** Runs the tool again inside namespaces; its exit code, or undefined where they are not permitted. */
export function runInside(parameters: readonly string[]): Promise<number> | undefined {
  const flags = unsharing();
  if (flags === undefined) return undefined;
  const own = [process.execPath, ...process.execArgv, ...parameters];
  // Its standard input ends with this process, however that ends: then it ends too, and all with it.
  const child = spawn("unshare", [...flags, ...own], {
    stdio: ["pipe", "inherit", "inherit"],
    env: { ...process.env, [INSIDE]: "1" },
  });
  const end = () => child.stdin.end();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, end);
  // npm does not end what it runs when it is killed itself.
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || end(), PARENT_LOOK_MS).unref();
  return new Promise((resolve) => {
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

export class Stage {
  readonly folder: string;
  /** How many of each kind there is room for. */
  readonly counts: Readonly<Record<Kind, number>>;
  readonly isPrivate = isInside();
  readonly #children = new Set<ChildProcess>();
  readonly #ports = new Map<string, number>();
  #isolated: readonly PartName[] = [];

  private constructor(folder: string, nodes: number) {
    this.folder = folder;
    this.counts = { server: COUNT, node: nodes };
  }

  static async open(folder: string, smallBytes: number, nodes = COUNT): Promise<Stage> {
    const stage = new Stage(folder, nodes);
    for (const kind of KINDS) {
      for (let at = 0; at < stage.counts[kind]; at++)
        mkdirSync(stage.disk(kind, at), { recursive: true });
    }
    if (stage.isPrivate) stage.#lay(smallBytes);
    else await stage.#takePorts();
    // Nothing outlives the tool: in its own process namespace by the kernel, else by this.
    process.on("exit", () => stage.#endAll());
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));
    if (stage.isPrivate)
      process.stdin
        .on("end", () => process.exit(1))
        .resume()
        .unref();
    return stage;
  }

  disk(kind: Kind, at: number): string {
    return path.join(this.folder, `${kind}-${at}`);
  }

  /** Address on the cables between servers and nodes. */
  host(kind: Kind, at: number): string {
    if (!this.isPrivate) return "127.0.0.1";
    return `10.77.0.${(kind === "server" ? 10 : 20) + at}`;
  }

  /** Address of a node for its callers: a cable of its own, which is never cut. */
  front(at: number): string {
    return this.isPrivate ? `10.78.${at}.2` : "127.0.0.1";
  }

  port(name: string, fixed: number): number {
    return this.isPrivate ? fixed : this.#ports.get(name)!;
  }

  /** Starts a program at its end of the cable. */
  start(kind: Kind, at: number, command: readonly string[], env: NodeJS.ProcessEnv, log: number) {
    const where = this.isPrivate
      ? ["nsenter", `--net=/run/netns/${kind}${at}`]
      : ["setpriv", "--pdeathsig", "KILL"];
    const [program, ...rest] = [...where, ...command];
    const child = spawn(program!, rest, { env, stdio: ["ignore", "ignore", log] });
    this.#children.add(child);
    child.on("exit", () => this.#children.delete(child));
    return child;
  }

  cut(kind: Kind, at: number): void {
    sh("ip", "link", "set", `${kind}${at}`, "down");
  }

  mend(kind: Kind, at: number): void {
    sh("ip", "link", "set", `${kind}${at}`, "up");
  }

  /** Parts that reach each other and nobody else: on a bridge of their own. */
  isolate(parts: readonly PartName[]): void {
    sh("ip", "link", "add", "island", "type", "bridge");
    sh("ip", "link", "set", "island", "up");
    for (const { kind, at } of parts) sh("ip", "link", "set", `${kind}${at}`, "master", "island");
    this.#isolated = parts;
  }

  /** Ends that. */
  rejoin(): void {
    for (const { kind, at } of this.#isolated)
      sh("ip", "link", "set", `${kind}${at}`, "master", "yard");
    this.#isolated = [];
    sh("ip", "link", "del", "island");
  }

  /** Loses what one part sends to another; the other direction is left alone. */
  drop(from: PartName, to: PartName): void {
    sh(
      "ip",
      "-n",
      `${from.kind}${from.at}`,
      "route",
      "add",
      "blackhole",
      this.host(to.kind, to.at),
    );
  }

  /** Ends that. */
  pass(from: PartName, to: PartName): void {
    sh(
      "ip",
      "-n",
      `${from.kind}${from.at}`,
      "route",
      "del",
      "blackhole",
      this.host(to.kind, to.at),
    );
  }

  /** Leaves no room on a small disk. */
  async fill(kind: Kind): Promise<void> {
    const file = path.join(this.disk(kind, SMALL), FILLER);
    const filling = spawn("dd", ["if=/dev/zero", `of=${file}`, "bs=1M"], { stdio: "ignore" });
    // It ends when nothing more fits.
    await once(filling, "exit");
  }

  empty(kind: Kind): void {
    rmSync(path.join(this.disk(kind, SMALL), FILLER), { force: true });
  }

  /** Removes everything. */
  close(): void {
    for (const kind of this.isPrivate ? KINDS : []) sh("umount", "-l", this.disk(kind, SMALL));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #endAll(): void {
    for (const child of this.#children) {
      child.kill("SIGKILL");
      child.kill("SIGCONT");
    }
  }

  #lay(smallBytes: number): void {
    sh("mount", "-t", "tmpfs", "tmpfs", "/run");
    mkdirSync("/run/netns", { recursive: true });
    sh("ip", "link", "set", "lo", "up");
    sh("ip", "link", "add", "yard", "type", "bridge");
    sh("ip", "addr", "add", "10.77.0.254/24", "dev", "yard");
    sh("ip", "link", "set", "yard", "up");
    for (const kind of KINDS) {
      const size = `size=${smallBytes}`;
      sh("mount", "-t", "tmpfs", "-o", size, "tmpfs", this.disk(kind, SMALL));
      for (let at = 0; at < this.counts[kind]; at++) this.#layCable(kind, at);
    }
    for (let at = 0; at < this.counts.node; at++) {
      plug(`front${at}`, `node${at}`, "front", `${this.front(at)}/24`);
      sh("ip", "addr", "add", `10.78.${at}.1/24`, "dev", `front${at}`);
    }
  }

  #layCable(kind: Kind, at: number): void {
    sh("ip", "netns", "add", `${kind}${at}`);
    sh("ip", "-n", `${kind}${at}`, "link", "set", "lo", "up");
    plug(`${kind}${at}`, `${kind}${at}`, "yard", `${this.host(kind, at)}/24`);
    sh("ip", "link", "set", `${kind}${at}`, "master", "yard");
  }

  async #takePorts(): Promise<void> {
    const names = ["client", "route", "monitor", "http"];
    const servers = names.flatMap((name) =>
      Array.from({ length: this.counts.node }, (_, at) => {
        return [`${name}${at}`, createServer()] as const;
      }),
    );
    for (const [name, server] of servers) {
      await new Promise<void>((resolve) => {
        server.listen(0, "127.0.0.1", resolve);
      });
      this.#ports.set(name, (server.address() as AddressInfo).port);
    }
    for (const [, server] of servers) server.close();
  }
}

/** One end here, the other in a network namespace under another name. */
function plug(name: string, namespace: string, there: string, address: string): void {
  sh("ip", "link", "add", name, "type", "veth", "peer", "name", there, "netns", namespace);
  sh("ip", "-n", namespace, "addr", "add", address, "dev", there);
  sh("ip", "-n", namespace, "link", "set", there, "up");
  sh("ip", "link", "set", name, "up");
}

function sh(program: string, ...parameters: string[]): void {
  execFileSync(program, parameters, { stdio: ["ignore", "ignore", "inherit"] });
}

/** The nats-server of this machine; undefined where .ci/nats-server.sh finds none. */
export function natsServer(): string | undefined {
  const script = path.join(import.meta.dirname, "../../.ci/nats-server.sh");
  const found = spawnSync(script, ["--find"], { encoding: "utf8" });
  return found.status === 0 ? found.stdout.trim() : undefined;
}
