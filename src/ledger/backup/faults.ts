// Faults of backup and restore, as one sentence and an exit code.

/** A backup that cannot be made, read or restored. The message says what to do. */
export class BackupFault extends Error {
  /** 1, or 65 when what is stored does not verify. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.name = "BackupFault";
    this.exitCode = exitCode;
  }
}

const EXIT_DAMAGED = 65;

/** A stored file of a backup does not verify. */
export function damagedBackup(message: string): BackupFault {
  return new BackupFault(message, EXIT_DAMAGED);
}
