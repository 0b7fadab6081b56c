// Lock of a backup directory: a file with the number of the process that writes. One that a killed
// process has left is taken over.
import * as fs from "node:fs";
import { join } from "node:path";
import { BackupFault } from "./faults.ts";

export const LOCK_FILE = "lock";

/**
 * Locks a directory; call what it returns to release it.
 * @throws BackupFault while another process writes there.
 */
export function lockBackup(root: string): () => void {
  const path = join(root, LOCK_FILE);
  for (;;) {
    try {
      fs.writeFileSync(path, String(process.pid), { flag: "wx", mode: 0o600 });
      return () => fs.rmSync(path, { force: true });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    }
    const pid = holderOf(path);
    if (pid !== process.pid && isRunning(pid)) {
      throw new BackupFault(
        `process ${pid} writes into \`${root}\`: wait for it, or remove \`${path}\` if that is no backup`,
      );
    }
    fs.rmSync(path, { force: true });
  }
}

/** 0 when the file is gone or unfinished. */
function holderOf(path: string): number {
  try {
    return Number(fs.readFileSync(path, "latin1")) || 0;
  } catch {
    return 0;
  }
}

function isRunning(pid: number): boolean {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM";
  }
}
