// The process for callers' SQL over a core in the test's own thread.
import { join } from "node:path";
import { startLimitedProcess } from "../../../src/platform/limited-process.ts";
import type { JournalFollower } from "../../../src/store/journal-follower.ts";
import type { SandboxCall } from "../../../src/store/sandbox/process.ts";
import { Sandbox } from "../../../src/store/sandbox/sandbox.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import type { Logged } from "../_fixtures.ts";
import { encodeFault } from "../../../src/contract/encoded-fault.ts";
import { ServiceFault } from "../../../src/contract/faults.ts";

export const MEMORY_BYTES = 1024 * 1024 * 1024;
export const PREPARED_MS = 1_234_567;

export interface OpenSandbox {
  readonly sandbox: Sandbox;
  readonly log: Logged[];
  /** As the operator without a tenant. */
  readonly ask: (sql: string, tenant?: string, timeoutMs?: number) => Promise<unknown[][]>;
}

/** `refuses`: calls of the process that it answers as if its memory had run out. */
export function openSandbox(
  core: JournalFollower,
  dataDir: string,
  idleMs?: number,
  refuses: (call: SandboxCall) => boolean = () => false,
): OpenSandbox {
  const log: Logged[] = [];
  const sandbox = new Sandbox({
    core,
    source: join(dataDir, "store"),
    directory: join(dataDir, "store-queries"),
    memoryBytes: MEMORY_BYTES,
    timeZone: "UTC",
    readScores: () => Promise.resolve(),
    settle: () => Promise.resolve(PREPARED_MS),
    onChange: () => undefined,
    log: (event, detail) => log.push({ event, detail }),
    start: (onMessage) => {
      const process = startLimitedProcess({
        entry: new URL("../../../src/threads/query-process.ts", import.meta.url),
        memoryBytes: MEMORY_BYTES,
        heapMegabytes: 256,
        threads: 8,
        onMessage: (message) => onMessage(message as never),
      });
      return {
        ...process,
        send(message) {
          const { id, call } = message as { id: number; call: SandboxCall };
          if (!refuses(call)) return process.send(message);
          const detail = "Out of Memory Error: Allocation failure";
          const fault = encodeFault(new ServiceFault("store_unavailable", detail));
          onMessage({ kind: "refusal", id, fault });
        },
      };
    },
    ...(idleMs === undefined ? {} : { idleMs }),
  });
  const ask: OpenSandbox["ask"] = async (sql, tenant, timeoutMs = WAIT_MS_MAX) => {
    const limits = { rowsMax: 1000, timeoutMs };
    const asker = { tenant, withheld: [] };
    return (await sandbox.query({ name: "query", sql, limits, asker })).rows;
  };
  return { sandbox, log, ask };
}
