// Entry of a further HTTP thread. Uncaught errors are reported to the main thread, which ends the
// service in order: a native server must not be torn down with open sockets.
import { parentPort, workerData } from "node:worker_threads";
import type { HttpThreadData } from "./messages.ts";
import { openThreadClock } from "../clock.ts";
import { serveHttpThread } from "./server.ts";

if (parentPort !== null) {
  const thread = serveHttpThread(parentPort, workerData as HttpThreadData, openThreadClock().now);
  process.on("uncaughtException", (error) => thread.fail(error));
}
