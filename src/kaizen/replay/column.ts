// Numbers of a journal's outcomes, one by one: growing typed arrays. They lie outside the heap, whose
// limit a thread has, and take what a number needs: the columns of ten million outcomes are 400 MB,
// a fifth of what arrays of numbers take.

type NumberArray = Uint8Array | Uint32Array | Float32Array | Float64Array;

const ROWS_MIN = 4096;

export class GrowingColumn<A extends NumberArray> {
  #values: A;
  readonly #make: (length: number) => A;
  #length = 0;

  constructor(make: (length: number) => A) {
    this.#make = make;
    this.#values = make(ROWS_MIN);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      // By half: twice as much would leave up to half of it empty.
      const larger = this.#make(this.#length + (this.#length >> 1));
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  /** What was pushed, without a copy; pushing goes on behind it. */
  values(): A {
    return this.#values.subarray(0, this.#length) as A;
  }
}

export const createByteColumn = () => new GrowingColumn((length) => new Uint8Array(length));
export const createWordColumn = () => new GrowingColumn((length) => new Uint32Array(length));
export const createFloatColumn = () => new GrowingColumn((length) => new Float32Array(length));
export const createDoubleColumn = () => new GrowingColumn((length) => new Float64Array(length));
