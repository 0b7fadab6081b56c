// Drain window of `trustrank serve`: the time between the signal that ends it and the close of its
// listeners. Meanwhile `/readyz` answers 503 and everything is served, so that load balancers choose
// other nodes before connections are refused.

export type EndSignal = "SIGTERM" | "SIGINT";

export interface DrainWindowOptions {
  /** Length of the window in milliseconds; 0: none. */
  readonly drainMs: number;
  /** Whether the process has a terminal: its SIGINT is Ctrl-C of a person, who waits for the end. */
  readonly isAtTerminal: boolean;
  /** Called once, with the signal that began the window and its length in milliseconds. */
  readonly onBegin: (signal: EndSignal, windowMs: number) => void;
  /** Called once, at the end of the window. */
  readonly onEnd: () => void;
}

/** The first signal begins the window, the second ends it, and later ones change nothing. */
export class DrainWindow {
  readonly #options: DrainWindowOptions;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(options: DrainWindowOptions) {
    this.#options = options;
  }

  /** Takes a signal to the process. */
  signal(signal: EndSignal): void {
    if (this.#isOver) return;
    if (this.#timer !== undefined) return this.#end();
    const { drainMs, isAtTerminal, onBegin } = this.#options;
    const windowMs = signal === "SIGINT" && isAtTerminal ? 0 : drainMs;
    onBegin(signal, windowMs);
    if (windowMs === 0) this.#end();
    else this.#timer = setTimeout(() => this.#end(), windowMs);
  }

  /** Neither begins nor ends it from now on: the process ends for another reason. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#isOver = true;
  }

  #end(): void {
    this.cancel();
    this.#options.onEnd();
  }
}
