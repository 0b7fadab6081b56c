// Buffers for bodies in more than one piece: one of the announced size each, and a budget over all
// of them, so that slow senders cannot hold more memory than the limit.
import type { ServerLimits } from "./port.ts";

/** Budget of bytes for all pending bodies. */
export class BodyBudget {
  readonly #countMax: number;
  readonly #bytesMax: number;
  #count = 0;
  #bytes = 0;

  constructor(limits: ServerLimits) {
    this.#countMax = limits.pendingBodiesMax;
    this.#bytesMax = limits.pendingBodyBytesMax;
  }

  /** A buffer for `length` bytes, or undefined when the budget is spent. Release it once. */
  open(length: number): BodyBuffer | undefined {
    if (this.#count >= this.#countMax || this.#bytes + length > this.#bytesMax) return undefined;
    this.#count += 1;
    this.#bytes += length;
    return new BodyBuffer(length);
  }

  release(body: BodyBuffer): void {
    this.#count -= 1;
    this.#bytes -= body.bytes.length;
  }
}

export class BodyBuffer {
  readonly bytes: Buffer;
  #received = 0;

  constructor(length: number) {
    // Filled completely before it is read, so the zeroing can be spared.
    this.bytes = Buffer.allocUnsafeSlow(length);
  }

  /** Copies a piece; false when it is more than was announced. */
  append(piece: Uint8Array): boolean {
    if (this.#received + piece.length > this.bytes.length) return false;
    this.bytes.set(piece, this.#received);
    this.#received += piece.length;
    return true;
  }

  get isComplete(): boolean {
    return this.#received === this.bytes.length;
  }
}
