// Failures of commands as one sentence on stderr and an exit code.
import { ServiceFault } from "../contract/faults.ts";
import { DataDirectoryInUse, DataDirectoryUnusable } from "../journal/data-directory.ts";
import { FileUnusable, JournalBroken, JournalDamaged, JournalEndLost } from "../journal/faults.ts";
import { BackupFault } from "../ledger/backup/faults.ts";
import { RepairRefused } from "../journal/repair.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_FAILED, EXIT_USAGE } from "../service/failure.ts";
import { InvalidSetting } from "../service/settings/settings.ts";
import { note } from "./output.ts";

/** A failure as a person or a log is told of it. */
export interface Told {
  readonly message: string;
  readonly exitCode: number;
}

/** Tells of a failure on stderr; returns the exit code. */
export function reportFailure(error: unknown): number {
  const { message, exitCode } = describeFailure(error);
  note(`trustrank: ${message}`);
  return exitCode;
}

/** Every failure as one sentence and its exit code; anything unexpected keeps its stack. */
export function describeFailure(error: unknown): Told {
  if (error instanceof CommandFailure) return told(error.message, error.exitCode);
  if (error instanceof InvalidSetting) return told(error.message, EXIT_USAGE);
  if (error instanceof JournalDamaged) {
    const isEndLost = error.damage.lostUpto !== undefined;
    const flag = isEndLost ? "--accept-loss" : "--repair";
    const advice = `run \`trustrank doctor\`, then \`trustrank doctor ${flag}\` to go on without it`;
    return told(`${error.message}: ${advice}`, EXIT_DAMAGED);
  }
  if (error instanceof JournalEndLost) return told(error.message, error.exitCode);
  if (error instanceof RepairRefused) return told(error.message, EXIT_DAMAGED);
  if (error instanceof FileUnusable) return told(error.message, error.exitCode);
  if (error instanceof JournalBroken) return told(error.message, error.exitCode);
  if (error instanceof BackupFault) return told(error.message, error.exitCode);
  if (error instanceof ServiceFault) return told(error.detail, EXIT_FAILED);
  if (error instanceof DataDirectoryInUse) return told(error.message, EXIT_FAILED);
  if (error instanceof DataDirectoryUnusable) return told(error.message, EXIT_FAILED);
  if ((error as NodeJS.ErrnoException).code !== undefined) {
    return told((error as Error).message, EXIT_FAILED);
  }
  return told((error as Error).stack ?? String(error), EXIT_FAILED);
}

function told(message: string, exitCode: number): Told {
  return { message, exitCode };
}
