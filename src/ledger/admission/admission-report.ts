// Report of what admission refuses, from the ledger thread to the service: a change leaves with the next
// commit, at most twice a second, or a moment after the last one.
import type { Admission, AdmissionStatus } from "./admission.ts";

const INTERVAL_MS = 500;

export class AdmissionReport {
  readonly #admission: Admission;
  readonly #send: (status: AdmissionStatus) => void;
  #sent: AdmissionStatus = { refusedFull: 0, refusedLimited: 0, keysLimited: 0 };
  #sentAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(admission: Admission, send: (status: AdmissionStatus) => void) {
    this.#admission = admission;
    this.#send = send;
  }

  /** Call after each commit, with its time. */
  turn(nowMs: number): void {
    if (isSame(this.#admission.status, this.#sent)) return;
    if (nowMs - this.#sentAtMs < INTERVAL_MS) {
      // Under load the timer never has its turn; the next commit sends then.
      this.#timer ??= setTimeout(() => this.#report(nowMs + INTERVAL_MS), INTERVAL_MS);
    } else this.#report(nowMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #report(nowMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sentAtMs = nowMs;
    this.#sent = this.#admission.status;
    this.#send(this.#sent);
  }
}

function isSame(left: AdmissionStatus, right: AdmissionStatus): boolean {
  return (
    left.refusedFull === right.refusedFull &&
    left.refusedLimited === right.refusedLimited &&
    left.keysLimited === right.keysLimited
  );
}
