// Waits for a started ledger thread's first word: ready, or why it cannot be.
import type { Worker } from "node:worker_threads";
import { JournalBroken, JournalDamaged } from "./journal-faults.ts";
import type { FailedMessage, FromLedger, ReadyMessage } from "./ledger-messages.ts";

/** Rejects with JournalDamaged or JournalBroken when the thread says so or ends. */
export function awaitReady(worker: Worker): Promise<ReadyMessage> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: FromLedger) => {
      settle();
      if (message.kind === "ready") resolve(message);
      else if (message.kind === "failed") reject(errorOf(message));
      else reject(new Error(`the ledger thread began with \`${message.kind}\``));
    };
    const onError = (error: Error) => {
      settle();
      reject(error);
    };
    const onExit = (code: number) => {
      settle();
      reject(new JournalBroken(`the ledger thread ended with ${code} before it was ready`));
    };
    const settle = () => {
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
    };
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
  });
}

function errorOf(message: FailedMessage): Error {
  if (message.damage !== undefined) return new JournalDamaged(message.damage);
  return new JournalBroken(message.detail);
}
