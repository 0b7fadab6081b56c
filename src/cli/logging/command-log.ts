// Log of a command that works on the files itself: what went wrong, and nothing else, on stderr.
import { type Log, createLog } from "../../platform/log.ts";

/** Warnings and errors of the parts that a command opens. */
export function createCommandLog(): Log {
  const format = process.stderr.isTTY ? "human" : "json";
  return createLog((line) => process.stderr.write(line), Date.now, { level: "warn", format });
}
