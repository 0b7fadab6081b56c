// Seeded 64-bit hash of texts, in two halves of 32 bits: who does not know the seed finds no two texts that share a
// slot. Hot path: no allocation. MurmurHash3's multipliers and final mix (Appleby, public domain).

const FIRST_MULTIPLIER = 0x85ebca6b;
const SECOND_MULTIPLIER = 0xc2b2ae35;
const FIRST_ROTATION = 13;
const SECOND_ROTATION = 15;

export interface HashKey {
  readonly low: number;
  readonly high: number;
}

/** Both halves are the state; text after text can be added. */
export class TextHash implements HashKey {
  low = 0;
  high = 0;

  begin(low: number, high: number): void {
    this.low = low;
    this.high = high;
  }

  /** Adds a text; its length ends it, so that `ab`, `c` is another sequence than `a`, `bc`. */
  add(text: string): void {
    let { low, high } = this;
    const { length } = text;
    for (let at = 0; at < length; at += 1) {
      const code = text.charCodeAt(at);
      low = Math.imul(low ^ code, FIRST_MULTIPLIER);
      low = (low << FIRST_ROTATION) | (low >>> (32 - FIRST_ROTATION));
      high = Math.imul(high ^ code, SECOND_MULTIPLIER);
      high = (high << SECOND_ROTATION) | (high >>> (32 - SECOND_ROTATION));
    }
    this.low = mix(low ^ length);
    this.high = mix(high + length);
  }
}

function mix(half: number): number {
  let mixed = half ^ (half >>> 16);
  mixed = Math.imul(mixed, FIRST_MULTIPLIER);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, SECOND_MULTIPLIER);
  return mixed ^ (mixed >>> 16);
}
