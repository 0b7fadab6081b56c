// Entry of the process that runs callers' SQL. Composition only; the work is in store/sandbox/server.ts.
import * as fs from "node:fs";
import type { MessageToSandbox } from "../store/sandbox/process.ts";
import { SandboxServer } from "../store/sandbox/server.ts";

const OOM_SCORE = "1000";

/** A machine that runs out of memory takes this process first. */
function preferForOomKill(): void {
  try {
    fs.writeFileSync("/proc/self/oom_score_adj", OOM_SCORE);
  } catch {
    // Not Linux, or not allowed: the limit holds without it.
  }
}

const server = new SandboxServer((message) => process.send?.(message));
process.on("message", (message: MessageToSandbox) => void server.answerCall(message));
// Without the service there is nobody to answer. An orderly exit would wait for the running query.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
preferForOomKill();
