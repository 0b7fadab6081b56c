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

/** The journal and the one in the backup are not the same up to the end of the shorter one. */
export class JournalParted extends BackupFault {
  constructor(position: number) {
    super(
      `the journal is not the one in the backup (they part by position ${position}; it was ` +
        "repaired, restored, or is another service's): back up into another directory",
    );
    this.name = "JournalParted";
  }
}

const EXIT_DAMAGED = 65;

/** A stored file of a backup does not verify. */
export function createBackupDamageFault(message: string): BackupFault {
  return new BackupFault(message, EXIT_DAMAGED);
}
