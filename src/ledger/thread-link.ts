// Link to the ledger thread: the thread itself, or a port that joined it.
import type { MessagePort, Worker } from "node:worker_threads";
import type { FromLedger, ToLedger } from "./messages.ts";

export interface LedgerThread {
  postMessage(message: ToLedger, transfer: (ArrayBuffer | MessagePort)[]): void;
  onMessage(listener: (message: FromLedger) => void): void;
  onError(listener: () => void): void;
  onExit(listener: () => void): void;
}

export function wrapLedgerWorker(worker: Worker): LedgerThread {
  return {
    postMessage: (message, transfer) => worker.postMessage(message, transfer),
    onMessage: (listener) => void worker.on("message", listener),
    onError: (listener) => void worker.on("error", listener),
    onExit: (listener) => void worker.once("exit", listener),
  };
}

/** A port has no errors of its own; its end is that of the thread behind it. */
export function wrapLedgerPort(port: MessagePort): LedgerThread {
  return {
    postMessage: (message, transfer) => port.postMessage(message, transfer),
    onMessage: (listener) => void port.on("message", listener),
    onError: () => undefined,
    onExit: (listener) => void port.once("close", listener),
  };
}
