// Request coalescing: one question per key at a time, joined by callers that ask meanwhile. After
// an answer that does not serve its stakes a caller asks for itself and does not wait again, so a
// queue of different stakes never adds up.

export class SingleFlight<Value> {
  readonly #flights = new Map<string, Promise<Value>>();

  /** The answer under way for this key. */
  find(key: string): Promise<Value> | undefined {
    return this.#flights.get(key);
  }

  /** Starts `call` as the answer that others of this key join. */
  start(key: string, call: () => Promise<Value>): Promise<Value> {
    const flight = call().finally(() => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    });
    this.#flights.set(key, flight);
    return flight;
  }
}

/** `promise`, or the reason of `signal` when that comes first; the promise itself runs on. */
export function raceWithAbort<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
  reason: () => unknown,
): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(reason());
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
