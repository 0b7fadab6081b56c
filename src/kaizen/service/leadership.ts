// Right to do a job that needs doing once: of the nodes of a cluster one has it at a time, and a service that is alone
// always.

export interface Leadership {
  /** Whether the job is this process's now. */
  readonly isHeld: boolean;
  /** Calls back whenever the job becomes this process's; not for one that it has already. */
  onTaken(call: () => void): void;
}

export const ALWAYS_LEADER: Leadership = { isHeld: true, onTaken: () => undefined };
