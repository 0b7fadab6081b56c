// Failure of a command: a message for a person and the exit code that a script reads. Codes are
// part of the interface: 1 failed, 2 usage, 65 damaged evidence, 70 evidence could not be recorded
// any more: not synced, or the directory has another owner.

export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_DAMAGED = 65;
export const EXIT_SYNC_FAILED = 70;

/** Thrown by commands; the entry prints the message on stderr and exits with the code. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT_FAILED) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}

/** A port that is taken is the operator's to mend: one sentence, no stack. */
export function throwCommandFailure(error: unknown): never {
  throw new CommandFailure((error as Error).message);
}
