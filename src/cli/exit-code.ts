// Failures of commands as one sentence on stderr and an exit code.
import { ServiceFault } from "../contract/faults.ts";
import { DataDirectoryInUse, DataDirectoryUnusable } from "../journal/data-directory.ts";
import { FileUnusable, JournalBroken, JournalDamaged, JournalEndLost } from "../journal/faults.ts";
import { BackupFault } from "../ledger/backup/faults.ts";
import { RepairRefused } from "../journal/repair.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_FAILED, EXIT_USAGE } from "../service/failure.ts";
import { InvalidSetting } from "../service/settings/settings.ts";
import { note } from "./output.ts";

/** Every failure as one sentence and its exit code; anything unexpected keeps its stack. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure) return complain(error.message, error.exitCode);
  if (error instanceof InvalidSetting) return complain(error.message, EXIT_USAGE);
  if (error instanceof JournalDamaged) {
    const isEndLost = error.damage.lostUpto !== undefined;
    const flag = isEndLost ? "--accept-loss" : "--repair";
    const advice = `run \`trustrank doctor\`, then \`trustrank doctor ${flag}\` to go on without it`;
    return complain(`${error.message}: ${advice}`, EXIT_DAMAGED);
  }
  if (error instanceof JournalEndLost) return complain(error.message, error.exitCode);
  if (error instanceof RepairRefused) return complain(error.message, EXIT_DAMAGED);
  if (error instanceof FileUnusable) return complain(error.message, error.exitCode);
  if (error instanceof JournalBroken) return complain(error.message, error.exitCode);
  if (error instanceof BackupFault) return complain(error.message, error.exitCode);
  if (error instanceof ServiceFault) return complain(error.detail, EXIT_FAILED);
  if (error instanceof DataDirectoryInUse) return complain(error.message, EXIT_FAILED);
  if (error instanceof DataDirectoryUnusable) return complain(error.message, EXIT_FAILED);
  if ((error as NodeJS.ErrnoException).code !== undefined) {
    return complain((error as Error).message, EXIT_FAILED);
  }
  return complain((error as Error).stack ?? String(error), EXIT_FAILED);
}

function complain(message: string, exitCode: number): number {
  note(`trustrank: ${message}`);
  return exitCode;
}
