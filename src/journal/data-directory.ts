// Data directory: its paths, its owner, and the address of the server that runs on it. One process
// at a time: an abstract Unix socket (released by the kernel on kill -9) and an owner file with a
// rising epoch, because such sockets are per network namespace.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { nodeFiles, replaceFile } from "./files.ts";

export interface DataPaths {
  readonly root: string;
  readonly journal: string;
  readonly snapshots: string;
  readonly store: string;
  readonly bureauKey: string;
  readonly apiKeys: string;
  readonly server: string;
  readonly owner: string;
}

/** Paths inside a data directory; creates nothing. */
export function dataPaths(root: string): DataPaths {
  return {
    root,
    journal: join(root, "journal"),
    snapshots: join(root, "snapshots"),
    store: join(root, "store"),
    bureauKey: join(root, "bureau.key"),
    apiKeys: join(root, "keys.json"),
    server: join(root, "server.json"),
    owner: join(root, "owner.json"),
  };
}

/** Another process owns the directory. `pid` is 0 when it is unknown. */
export class DataDirectoryInUse extends Error {
  readonly pid: number;

  constructor(root: string, pid: number) {
    super(
      `data directory \`${root}\` is in use by ${pid === 0 ? "another process" : `pid ${pid}`}`,
    );
    this.name = "DataDirectoryInUse";
    this.pid = pid;
  }
}

export interface DataDirectoryClaim {
  readonly paths: DataPaths;
  /** Rises with every owner; segment headers carry it. */
  readonly epoch: number;
  /** Releases the directory once every claim of this process is released. */
  release(): Promise<void>;
}

interface Owner {
  pid: number;
  epoch: number;
  /** Start time of that process as the kernel counts it, so that a reused pid is not mistaken. */
  startedAt: string;
}

interface Holding {
  claim: Promise<{ server: Server; epoch: number }>;
  count: number;
}

// One process may hold a directory in several parts (ledger and store): they share one lock.
const holdings = new Map<string, Holding>();

/**
 * Claims a data directory for this process, creating it (0700) when missing.
 * @throws DataDirectoryInUse when another process owns it.
 */
export async function claimDataDirectory(root: string): Promise<DataDirectoryClaim> {
  nodeFiles.makeDirectory(root);
  const paths = dataPaths(fs.realpathSync(root));
  const holding = holdings.get(paths.root) ?? { claim: takeOver(paths), count: 0 };
  holdings.set(paths.root, holding);
  holding.count++;
  let epoch: number;
  try {
    ({ epoch } = await holding.claim);
  } catch (error) {
    holdings.delete(paths.root);
    throw error;
  }
  let isReleased = false;
  const release = async () => {
    if (isReleased) return;
    isReleased = true;
    holding.count--;
    if (holding.count > 0) return;
    holdings.delete(paths.root);
    const { server } = await holding.claim;
    fs.rmSync(paths.owner, { force: true });
    await new Promise((resolve) => server.close(resolve));
  };
  return { paths, epoch, release };
}

async function takeOver(paths: DataPaths): Promise<{ server: Server; epoch: number }> {
  const server = await bindLock(paths);
  const previous = readJson<Owner>(paths.owner);
  if (previous !== undefined && isRunning(previous)) {
    await new Promise((resolve) => server.close(resolve));
    throw new DataDirectoryInUse(paths.root, previous.pid);
  }
  const epoch = Math.max(previous?.epoch ?? 0, readJson<number>(epochPath(paths)) ?? 0) + 1;
  const owner: Owner = { pid: process.pid, epoch, startedAt: processStart(process.pid) };
  replaceFile(nodeFiles, paths.root, "epoch", Buffer.from(String(epoch)));
  replaceFile(nodeFiles, paths.root, "owner.json", Buffer.from(JSON.stringify(owner)));
  return { server, epoch };
}

/** The epoch outlives the owner file, which a clean stop removes. */
function epochPath(paths: DataPaths): string {
  return join(paths.root, "epoch");
}

function bindLock(paths: DataPaths): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  // Abstract sockets are Linux's; elsewhere the owner file alone guards the directory.
  const name = `trustrank-${createHash("sha256").update(paths.root).digest("hex")}`;
  if (process.platform !== "linux") return Promise.resolve(server);
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      const pid = readJson<Owner>(paths.owner)?.pid ?? 0;
      reject(isTaken ? new DataDirectoryInUse(paths.root, pid) : error);
    });
    server.listen(`\0${name}`, () => {
      server.unref();
      resolve(server);
    });
  });
}

function isRunning(owner: Owner): boolean {
  if (owner.pid === process.pid) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  return processStart(owner.pid) === owner.startedAt;
}

/** Field 22 of /proc/<pid>/stat, or empty where there is no /proc. */
function processStart(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command may hold spaces and brackets; fields are counted behind its last bracket.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

export interface ServerAddress {
  url: string;
  pid: number;
}

/** Written by `serve` once it listens, so that commands can talk to it instead of the files. */
export function publishServer(paths: DataPaths, address: ServerAddress): void {
  replaceFile(nodeFiles, paths.root, "server.json", Buffer.from(JSON.stringify(address)));
}

export function withdrawServer(paths: DataPaths): void {
  fs.rmSync(paths.server, { force: true });
}

/** The running server of a data directory; undefined when there is none (or it is gone). */
export function findServer(root: string): ServerAddress | undefined {
  const address = readJson<ServerAddress>(dataPaths(root).server);
  if (address === undefined) return undefined;
  try {
    process.kill(address.pid, 0);
    return address;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? address : undefined;
  }
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(fs.readFileSync(path, "utf8")) as T;
  } catch {
    return undefined;
  }
}
