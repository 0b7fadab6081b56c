// Failures of commands as one sentence on stderr and an exit code.
import { ServiceFault } from "../contract/faults.ts";
import { KeyFileUnusable } from "../http/access/key-file.ts";
import { DataDirectoryInUse, DataDirectoryUnusable } from "../journal/data-directory.ts";
import { FileUnusable, JournalBroken, JournalDamaged, JournalEndLost } from "../journal/faults.ts";
import { BackupFault } from "../ledger/backup/faults.ts";
import { JournalRepairRefused } from "../journal/repair.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_FAILED, EXIT_USAGE } from "../service/failure.ts";
import { InvalidSetting } from "../service/settings/settings.ts";
import { printNote } from "./output.ts";

/** A failure as a person or a log is told of it. */
export interface FailureReport {
  readonly message: string;
  readonly exitCode: number;
}

/** Tells of a failure on stderr; returns the exit code. */
export function reportFailure(error: unknown): number {
  const { message, exitCode } = describeFailure(error);
  printNote(`trustrank: ${message}`);
  return exitCode;
}

/** Every failure as one sentence and its exit code; anything unexpected keeps its stack. */
export function describeFailure(error: unknown): FailureReport {
  if (error instanceof CommandFailure) return createFailureReport(error.message, error.exitCode);
  if (error instanceof InvalidSetting) return createFailureReport(error.message, EXIT_USAGE);
  if (error instanceof JournalDamaged) {
    const isEndLost = error.damage.lostUpto !== undefined;
    const flag = isEndLost ? "--accept-loss" : "--repair";
    const advice = `run \`trustrank doctor\`, then \`trustrank doctor ${flag}\` to go on without it`;
    return createFailureReport(`${error.message}: ${advice}`, EXIT_DAMAGED);
  }
  if (error instanceof JournalEndLost) return createFailureReport(error.message, error.exitCode);
  if (error instanceof JournalRepairRefused)
    return createFailureReport(error.message, EXIT_DAMAGED);
  if (error instanceof FileUnusable) return createFailureReport(error.message, error.exitCode);
  if (error instanceof KeyFileUnusable) return createFailureReport(error.message, EXIT_DAMAGED);
  if (error instanceof JournalBroken) return createFailureReport(error.message, error.exitCode);
  if (error instanceof BackupFault) return createFailureReport(error.message, error.exitCode);
  if (error instanceof ServiceFault) return createFailureReport(error.detail, EXIT_FAILED);
  if (error instanceof DataDirectoryInUse) return createFailureReport(error.message, EXIT_FAILED);
  if (error instanceof DataDirectoryUnusable)
    return createFailureReport(error.message, EXIT_FAILED);
  if ((error as NodeJS.ErrnoException).code !== undefined) {
    return createFailureReport((error as Error).message, EXIT_FAILED);
  }
  return createFailureReport((error as Error).stack ?? String(error), EXIT_FAILED);
}

function createFailureReport(message: string, exitCode: number): FailureReport {
  return { message, exitCode };
}
