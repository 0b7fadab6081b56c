// Child process of Node whose memory the kernel limits: RLIMIT_DATA, set by a shell before Node starts.
// It counts what a process may write to (heap, stacks, private mappings) and none of the address
// space that Node merely reserves, so that a small limit works; an allocation beyond it fails.
import { type ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import { fileURLToPath } from "node:url";

const KIBIBYTE = 1024;
/** The end of what it wrote to stderr, for the log. */
const STDERR_TAIL_CHARS = 2000;
/**
 * A nice value as that of other threads of batch work, for all threads of the process. Between sessions it counts for
 * nothing where Linux shares the processors out by session (autogroup), and this process is one of its own: there the
 * session has a nice value, too.
 */
const LIMIT_SCRIPT = `ulimit -d "$1" && shift && { { echo 10 >/proc/self/autogroup; } 2>/dev/null || :; } &&
  if command -v nice >/dev/null; then exec nice -n 10 "$@"; else exec "$@"; fi`;

/**
 * Variable of DuckDB's own allocator (jemalloc), read when its library is loaded: it kept an arena for each thread, and
 * address space for all that it had ever freed, which counts here. A large query was refused because there had been
 * another.
 */
export const DUCKDB_JE_MALLOC_CONF = "narenas:1,retain:false";

export interface LimitedProcessOptions {
  /** File that the process runs. */
  entry: URL;
  /** Bytes that it may write to, in all. */
  memoryBytes: number;
  /** MiB of those for the heap of JavaScript. */
  heapMegabytes: number;
  /** Threads of its pool of native work. */
  threads: number;
  onMessage: (message: unknown) => void;
}

export interface LimitedProcess {
  send(message: object): void;
  /** SIGKILL; harmless when it has ended. */
  kill(): void;
  /** Resident bytes; 0 where that is unknown. */
  memoryBytes(): number;
  /** Resolves when it has ended, with a line that says how. Never rejects. */
  readonly whenEnded: Promise<string>;
}

/** Starts it at once. A limit that cannot be set ends it before Node runs. */
export function startLimitedProcess(options: LimitedProcessOptions): LimitedProcess {
  const { memoryBytes, heapMegabytes, threads } = options;
  const kibibytes = String(Math.floor(memoryBytes / KIBIBYTE));
  const flags = ["--disable-warning=ExperimentalWarning", `--max-old-space-size=${heapMegabytes}`];
  const command = [process.execPath, ...flags, fileURLToPath(options.entry)];
  // No variable of the service's own reaches it: some are secrets.
  const child = spawn("/bin/sh", ["-c", LIMIT_SCRIPT, "sh", kibibytes, ...command], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    serialization: "advanced",
    // A signal from the terminal is the service's own: it ends this one in its time.
    detached: true,
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      UV_THREADPOOL_SIZE: String(threads),
      // A pool of free memory for each thread would eat the limit up within minutes.
      MALLOC_ARENA_MAX: "2",
      DUCKDB_JE_MALLOC_CONF,
    },
  });
  child.on("message", options.onMessage);
  return {
    send: (message) => {
      // One that has ended takes no message; `whenEnded` tells.
      if (child.connected) child.send(message, () => undefined);
    },
    kill: () => void child.kill("SIGKILL"),
    memoryBytes: () => readResidentBytes(child.pid),
    whenEnded: describeProcessEnd(child),
  };
}

function describeProcessEnd(child: ChildProcess): Promise<string> {
  let words = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    words = `${words}${text}`.slice(-STDERR_TAIL_CHARS);
  });
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(`not started: ${error.message}`));
    child.once("exit", (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
      const line = words.trim().replaceAll(/\s*\n\s*/g, "; ");
      resolve(line === "" ? how : `${how}: ${line}`);
    });
  });
}

const PAGE_BYTES = 4096;

function readResidentBytes(pid: number | undefined): number {
  try {
    const [, pages] = fs.readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return Number(pages) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/**
 * Whether this process really has a limit of at most `memoryBytes`: asks for that much, which nothing
 * touches, and expects to be refused. For the process that `startLimitedProcess` started.
 */
export function isMemoryLimited(memoryBytes: number): boolean {
  try {
    return new ArrayBuffer(memoryBytes).byteLength < memoryBytes;
  } catch {
    return true;
  }
}
