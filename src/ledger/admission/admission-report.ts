// Report of what admission refuses, from the ledger thread to the service: a change leaves with the next
// commit, at most twice a second, or a moment after the last one.
import type { AgentTableAdmission, AdmissionStatus } from "./admission.ts";

const SEND_INTERVAL_MS = 500;

export class AdmissionReport {
  readonly #admission: AgentTableAdmission;
  readonly #send: (status: AdmissionStatus) => void;
  #sent: AdmissionStatus = { refusedFull: 0, refusedLimited: 0, keysLimited: 0 };
  #sentAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(admission: AgentTableAdmission, send: (status: AdmissionStatus) => void) {
    this.#admission = admission;
    this.#send = send;
  }

  /** Call after each commit, with its time. */
  sendIfChanged(nowMs: number): void {
    if (isSameAdmissionStatus(this.#admission.status, this.#sent)) return;
    if (nowMs - this.#sentAtMs < SEND_INTERVAL_MS) {
      // Under load the timer never has its turn; the next commit sends then.
      this.#timer ??= setTimeout(() => this.#sendNow(nowMs + SEND_INTERVAL_MS), SEND_INTERVAL_MS);
    } else this.#sendNow(nowMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #sendNow(nowMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sentAtMs = nowMs;
    this.#sent = this.#admission.status;
    this.#send(this.#sent);
  }
}

function isSameAdmissionStatus(left: AdmissionStatus, right: AdmissionStatus): boolean {
  return (
    left.refusedFull === right.refusedFull &&
    left.refusedLimited === right.refusedLimited &&
    left.keysLimited === right.keysLimited
  );
}
