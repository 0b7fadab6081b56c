// Count of open connections of one serving thread, with its bound. Each takes a descriptor, and a
// process without one for its files ends: a stranger who only connects must not come so far.

/** Share of the bound from which replies of the native server end their connection. */
const CROWDED = 0.75;

export class Connections {
  readonly max: number;
  open = 0;
  /** New ones that were closed at once, since the start. */
  refused = 0;
  /** Idle ones that were closed for a new one, since the start. */
  closedIdle = 0;

  constructor(max: number) {
    this.max = max;
  }

  get isFull(): boolean {
    return this.open > this.max;
  }

  get isCrowded(): boolean {
    return this.open > this.max * CROWDED;
  }
}
