// Fault for every thread of a service under test: the first further HTTP thread throws an uncaught
// error once the file that PLANTED_FAULT names exists.
import { existsSync } from "node:fs";
import { isMainThread, workerData } from "node:worker_threads";

const file = process.env["PLANTED_FAULT"];
const isHttpThread = !isMainThread && (workerData as { number?: unknown } | null)?.number === 1;
if (isHttpThread && file !== undefined) {
  const look = setInterval(() => {
    if (!existsSync(file)) return;
    clearInterval(look);
    throw new Error("a planted fault");
  }, 10);
  look.unref();
}
