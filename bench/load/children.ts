// Servers that end with the bench: also when it throws where nobody waits, or is told to end. Only
// SIGKILL leaves them running.
import type { ServerProcess } from "../server-process.ts";

const running = new Set<number>();
const CODE_OF_SIGNAL = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
let isWatched = false;

/** The same server; `stop` is still to be called, and is what a bench ends by when all goes well. */
export function endingWithMe(server: ServerProcess): ServerProcess {
  watch();
  running.add(server.pid);
  return {
    ...server,
    async stop() {
      const code = await server.stop();
      running.delete(server.pid);
      return code;
    },
  };
}

function watch(): void {
  if (isWatched) return;
  isWatched = true;
  process.on("exit", endAll);
  for (const [signal, code] of Object.entries(CODE_OF_SIGNAL)) {
    process.once(signal, () => process.exit(code));
  }
}

function endAll(): void {
  for (const pid of running) {
    try {
      process.kill(pid, "SIGTERM");
    } catch {
      // It has ended by itself.
    }
  }
}
