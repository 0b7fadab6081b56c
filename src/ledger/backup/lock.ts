// Lock of a backup directory: one process writes into it at a time.
import { join } from "node:path";
import { readErrno } from "../../platform/files.ts";
import { lockFile } from "../../platform/file-lock.ts";
import { BackupFault } from "./faults.ts";

export const BACKUP_LOCK_FILE = "lock";
/** A file system without locks is a target like any other: two backups at once are the rare case. */
const LOCKS_UNSUPPORTED_ERRNOS: ReadonlySet<string> = new Set(["ENOLCK", "ENOTSUP", "EOPNOTSUPP"]);

/**
 * Locks a directory; call what it returns to release it. The lock ends with the process.
 * @throws BackupFault while another process writes there.
 */
export function lockBackup(root: string): () => void {
  let lock: ReturnType<typeof lockFile>;
  try {
    lock = lockFile(join(root, BACKUP_LOCK_FILE));
  } catch (cause) {
    if (LOCKS_UNSUPPORTED_ERRNOS.has(readErrno(cause))) return () => undefined;
    throw cause;
  }
  if (lock === undefined) {
    throw new BackupFault(`another process writes into the backup \`${root}\`: wait for it to end`);
  }
  return () => lock.release();
}
