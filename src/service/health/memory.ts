// Memory of the service by part, for /metrics: threads of JavaScript, shared memories, DuckDB by tag, resident memory
// by kind. Read in the background, so that a scrape waits for no thread. The C library's arenas are left out: only
// native code can ask for them (bench:soak does).
import { readFileSync } from "node:fs";
import type { MetricValues } from "../../http/metrics/metric-values.ts";
import type { ThreadHeap, ThreadHeaps } from "../../platform/thread-heaps.ts";
import type { Store } from "../../store/store.ts";

const KIB = 1024;
const STATUS_FILE = "/proc/self/status";
/** Kinds of resident memory by their line in the status file. */
const RESIDENT_KINDS = [
  ["anonymous", "RssAnon"],
  ["file", "RssFile"],
  ["shared", "RssShmem"],
] as const;
const DATABASE_MEMORY_SQL =
  "SELECT tag, memory_usage_bytes::DOUBLE FROM duckdb_memory() WHERE memory_usage_bytes > 0";

export interface MemorySources {
  readonly heaps: Pick<ThreadHeaps, "read">;
  readonly store: Pick<Store, "queryTrusted">;
  /** Bytes of the WebAssembly memories that threads share, by name. */
  readonly wasmBytes: () => Readonly<Record<string, number>>;
}

/** The newest values of the metrics of memory. */
export class MemorySampler {
  readonly #sources: MemorySources;
  #threads: readonly ThreadHeap[] = [];
  #database: MetricValues = {};
  #isReading = false;

  constructor(sources: MemorySources) {
    this.#sources = sources;
  }

  /** Reads threads and DuckDB, unless the reading before is not over. Never rejects. */
  async sample(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      this.#threads = await this.#sources.heaps.read();
      const rows = await this.#sources.store.queryTrusted(DATABASE_MEMORY_SQL);
      const tags = rows.map(([tag, bytes]) => ({
        labels: [String(tag).toLowerCase()],
        value: Number(bytes),
      }));
      this.#database = { store_memory_bytes: tags };
    } catch {
      // The store is closed or opens its files again: what is not known is left out.
      this.#database = {};
    } finally {
      this.#isReading = false;
    }
  }

  figures(): MetricValues {
    const byThread = (pick: (heap: ThreadHeap) => number) =>
      this.#threads.map((heap) => ({ labels: [heap.name], value: pick(heap) }));
    return {
      thread_heap_used_bytes: byThread(({ used }) => used),
      thread_heap_committed_bytes: byThread(({ committed }) => committed),
      thread_external_bytes: byThread(({ external }) => external),
      wasm_memory_bytes: Object.entries(this.#sources.wasmBytes()).map(([name, value]) => ({
        labels: [name],
        value,
      })),
      ...this.#database,
      resident_memory_bytes: readResidentMemory(),
    };
  }
}

/** Resident bytes of the process by kind; none where the kernel does not tell (other than Linux). */
function readResidentMemory(): { labels: string[]; value: number }[] {
  let text = "";
  try {
    text = readFileSync(STATUS_FILE, "utf8");
  } catch {
    return [];
  }
  return RESIDENT_KINDS.flatMap(([kind, line]) => {
    const kib = new RegExp(`^${line}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
    return kib === undefined ? [] : [{ labels: [kind], value: Number(kib) * KIB }];
  });
}
