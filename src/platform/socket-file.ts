// Unix domain socket in the file system, of one process at a time. Binding alone is not enough: the
// kernel refuses a path where a dead process has left its socket, the native server silently replaces
// whatever lies there, a regular file included, and both make the socket before its mode can be set.
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdtempSync,
  renameSync,
  rmSync,
  type Stats,
} from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { type FileLock, lockFile } from "./file-lock.ts";

/** Of the kernel's address, without its closing zero; the native server would write beyond it. */
export const SOCKET_PATH_BYTES_MAX = 107;
const LESS_ON_DARWIN = 4;
/** The socket is made in a folder of its own first: `/.tr-`, six letters, `/s`. */
const PRIVATE_NAME_BYTES = 13;
/** A process that was killed may hold its lock a moment longer than its data directory. */
const LOCK_WAIT_MS_MAX = 1000;
const WAIT_STEP_MS = 25;

export interface SocketAccess {
  /** Bits of the file: who may write to it may connect. */
  readonly mode: number;
  /** Undefined: the process's own. */
  readonly groupId: number | undefined;
}

/** A sentence on what keeps a path from being listened on; undefined when its form is good. */
export function findSocketPathError(path: string): string | undefined {
  if (process.platform === "win32") return "is not for this system: sockets need Linux or macOS";
  if (!path.startsWith("/")) return "is no absolute path";
  // eslint-disable-next-line no-control-regex -- a path may hold them, and a log line must not
  if (/[\0-\x1f\x7f,]/.test(path) || path.endsWith("/")) return "is no path of a file";
  const own = Buffer.byteLength(path);
  const made = Buffer.byteLength(dirname(path)) + PRIVATE_NAME_BYTES;
  const bytesMax = SOCKET_PATH_BYTES_MAX - (process.platform === "darwin" ? LESS_ON_DARWIN : 0);
  const excess = Math.max(own, made) - bytesMax;
  if (excess <= 0) return undefined;
  return `is ${excess} bytes too long: the system takes at most ${bytesMax}`;
}

/** A path that this process alone may listen on, until it releases it. */
export class SocketFile {
  readonly path: string;
  readonly #access: SocketAccess;
  readonly #lock: FileLock;
  #inode: bigint | undefined;

  constructor(path: string, access: SocketAccess, lock: FileLock) {
    this.path = path;
    this.#access = access;
    this.#lock = lock;
  }

  /**
   * Listens: `listen` binds at the path that it is given, in a folder that nobody else can enter. Its
   * socket is moved to its place with mode and group as they should be.
   */
  async open(listen: (path: string) => Promise<void> | void): Promise<void> {
    const folder = mkdtempSync(join(dirname(this.path), ".tr-"));
    try {
      const made = join(folder, "s");
      await listen(made);
      const { mode, groupId } = this.#access;
      if (groupId !== undefined) chownSync(made, -1, groupId);
      chmodSync(made, mode);
      this.#inode = lstatSync(made, { bigint: true }).ino;
      renameSync(made, this.path);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Removes the socket, unless another file lies there by now. Nobody new can connect. */
  withdraw(): void {
    if (this.#inode === undefined) return;
    const found = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    if (found?.ino === this.#inode) rmSync(this.path, { force: true });
    this.#inode = undefined;
  }

  /** Withdraws it, and lets others listen there. */
  release(): void {
    this.withdraw();
    this.#lock.release();
  }
}

/**
 * Claims a path; a socket that a dead process has left there is removed. The claim is a lock on the
 * file `PATH.lock`, which stays: who removed it could let two processes hold it.
 * @throws Error with a sentence: another process listens there, something else lies there, or the
 *   directory does not let us.
 */
export async function claimSocketFile(path: string, access: SocketAccess): Promise<SocketFile> {
  const lock = await acquireLockWithRetry(path);
  if (lock === undefined)
    throw new Error(`cannot listen on \`unix:${path}\`: another process does`);
  try {
    await removeStaleSocket(path);
    return new SocketFile(path, access, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function acquireLockWithRetry(path: string): Promise<FileLock | undefined> {
  for (let waitedMs = 0; ; waitedMs += WAIT_STEP_MS) {
    try {
      const lock = lockFile(`${path}.lock`);
      if (lock !== undefined || waitedMs >= LOCK_WAIT_MS_MAX) return lock;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = `its lock \`${path}.lock\` cannot be taken (${code ?? message})`;
      throw new Error(`cannot listen on \`unix:${path}\`: ${why}`, { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, WAIT_STEP_MS));
  }
}

async function removeStaleSocket(path: string): Promise<void> {
  const found: Stats | undefined = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new Error(`cannot listen on \`unix:${path}\`: a file lies there that is no socket`);
  }
  const answer = await probeSocket(path);
  if (answer === "ECONNREFUSED") rmSync(path, { force: true });
  else if (answer !== "ENOENT") {
    const why =
      answer === undefined ? "another process does" : `who owns it cannot be told (${answer})`;
    throw new Error(`cannot listen on \`unix:${path}\`: ${why}`);
  }
}

/** The error's code when nobody takes a connection; undefined when somebody does. */
function probeSocket(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
