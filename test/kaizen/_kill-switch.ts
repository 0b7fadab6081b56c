// Kill switch loaded into a real service before anything else (`--import`, in every thread): counts
// the durable file operations of a promotion and kills the process, as a power cut would, right
// before or right after the one that KILL_AT names: `rename state.json after 1`.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** What may be cut: a rename under kaizen/, or a write or sync of the journal after the config. */
const [operation, name, side, count] = (process.env["KILL_AT"] ?? "").split(" ");
let left = Number(count);

function cut(what: string, path: string, work: () => void): void {
  const isIt = what === operation && path.endsWith(name!);
  if (isIt && --left === 0) {
    if (side === "after") work();
    process.kill(process.pid, "SIGKILL");
    // The signal is on its way; nothing more may happen in this thread.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  work();
}

const { renameSync, writevSync, fdatasyncSync } = fs;
let isConfigWritten = false;
/** The journal's frames of kind `config` hold canonical JSON: `base_period_days` is in no other. */
const isConfigFrame = (parts: readonly NodeJS.ArrayBufferView[]): boolean =>
  parts.some((part) => Buffer.from(part.buffer, part.byteOffset, part.byteLength).includes(MARK));
const MARK = '"base_period_days"';

if (operation !== undefined && operation !== "") {
  fs.renameSync = (from, to) => {
    const path = String(to);
    if (path.includes("/kaizen/")) cut("rename", path, () => renameSync(from, to));
    else renameSync(from, to);
  };
  fs.writevSync = (descriptor, parts, position) => {
    let written = 0;
    const write = () => (written = writevSync(descriptor, parts, position));
    const path = fs.readlinkSync(`/proc/self/fd/${descriptor}`);
    if (path.includes("/journal/") && isConfigFrame(parts)) {
      isConfigWritten = true;
      cut("write", "journal", write);
    } else write();
    return written;
  };
  fs.fdatasyncSync = (descriptor) => {
    if (isConfigWritten) cut("sync", "journal", () => fdatasyncSync(descriptor));
    else fdatasyncSync(descriptor);
  };
  syncBuiltinESMExports();
}
