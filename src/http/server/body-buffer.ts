// Buffers for bodies in more than one piece: one of the announced size each, and a budget over all
// of them, so that slow senders cannot hold more memory than the limit.
import type { ServerLimits } from "./port.ts";

/** One sender may hold this part of the places and of the bytes: slow bodies of one hold up no other. */
const SENDER_DIVISOR = 4;

interface BodyUsage {
  count: number;
  bytes: number;
}

/** Budget of bytes for all pending bodies. */
export class BodyBudget {
  readonly #countMax: number;
  readonly #bytesMax: number;
  readonly #all: BodyUsage = { count: 0, bytes: 0 };
  /** By sender; gone with its last body. */
  readonly #senders = new Map<string, BodyUsage>();

  constructor(limits: ServerLimits) {
    this.#countMax = limits.pendingBodiesMax;
    this.#bytesMax = limits.pendingBodyBytesMax;
  }

  /** A buffer for `length` bytes, or undefined when the budget is spent. Release it once. */
  open(length: number, sender: string): BodyBuffer | undefined {
    const own = this.#senders.get(sender) ?? { count: 0, bytes: 0 };
    if (!this.#hasRoom(this.#all, length, 1) || !this.#hasRoom(own, length, SENDER_DIVISOR)) {
      return undefined;
    }
    this.#senders.set(sender, own);
    for (const held of [this.#all, own]) {
      held.count += 1;
      held.bytes += length;
    }
    return new BodyBuffer(length, sender);
  }

  release({ bytes, sender }: BodyBuffer): void {
    const own = this.#senders.get(sender) as BodyUsage;
    for (const held of [this.#all, own]) {
      held.count -= 1;
      held.bytes -= bytes.length;
    }
    if (own.count === 0) this.#senders.delete(sender);
  }

  #hasRoom({ count, bytes }: BodyUsage, length: number, part: number): boolean {
    return count < this.#countMax / part && bytes + length <= this.#bytesMax / part;
  }
}

export class BodyBuffer {
  readonly bytes: Buffer;
  readonly sender: string;
  #received = 0;

  constructor(length: number, sender: string) {
    this.sender = sender;
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
