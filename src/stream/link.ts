// Connection to the servers of the log as others see it: up or not, and how often it was lost.

/** State of the connection over which a node writes. */
export interface LogLink {
  readonly isUp: boolean;
  /** Times that it was lost since the start. */
  readonly lost: number;
  /** Calls back at once when it is lost or there again. */
  onChange: (() => void) | undefined;
}

/** What a client tells of its connection. */
interface Telling {
  status(): AsyncIterable<{ readonly type: string }>;
}

export class WatchedLink implements LogLink {
  isUp = false;
  lost = 0;
  onChange: (() => void) | undefined;

  /** Follows what the client tells, until it is closed. */
  watch(connection: Telling): void {
    this.isUp = true;
    void this.#follow(connection);
  }

  async #follow(connection: Telling): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === "disconnect" || type === "close") this.#set(false);
      else if (type === "reconnect") this.#set(true);
    }
    this.#set(false);
  }

  #set(isUp: boolean): void {
    if (isUp === this.isUp) return;
    this.isUp = isUp;
    if (!isUp) this.lost++;
    this.onChange?.();
  }
}
