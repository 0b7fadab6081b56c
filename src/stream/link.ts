// Connection to the servers of the log as others see it: up or not, and how often it was lost.

/** State of the connection over which a node writes. */
export interface LogConnectionState {
  readonly isUp: boolean;
  /** Times that it was lost since the start. */
  readonly lost: number;
  /** Calls back at once when it is lost or there again. */
  onChange: (() => void) | undefined;
}

/** What a client tells of its connection. */
interface ConnectionStatusSource {
  status(): AsyncIterable<{ readonly type: string }>;
}

export class LogConnectionMonitor implements LogConnectionState {
  isUp = false;
  lost = 0;
  onChange: (() => void) | undefined;

  /** Follows what the client tells, until it is closed. */
  watch(connection: ConnectionStatusSource): void {
    this.isUp = true;
    void this.#followStatus(connection);
  }

  async #followStatus(connection: ConnectionStatusSource): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === "disconnect" || type === "close") this.#setUp(false);
      else if (type === "reconnect") this.#setUp(true);
    }
    this.#setUp(false);
  }

  #setUp(isUp: boolean): void {
    if (isUp === this.isUp) return;
    this.isUp = isUp;
    if (!isUp) this.lost++;
    this.onChange?.();
  }
}
