// Parser of server-sent events, for text in pieces of any size.

/** One event; of repeated fields the last counts, lines of data are joined. */
export interface ServerEvent {
  /** `message` where the event names none. */
  readonly event: string;
  /** Empty where the event names none. */
  readonly id: string;
  readonly data: string;
}

/** Characters of one event; a longer one is not from the service. */
const EVENT_LENGTH_MAX = 64 * 1024;

export class EventStreamParser {
  #text = "";
  #event = "";
  #id = "";
  #data: string[] = [];

  /**
   * Takes the next piece and returns the events that it completes.
   * @throws RangeError for an event that is too long.
   */
  push(piece: string): ServerEvent[] {
    this.#text += piece;
    const events: ServerEvent[] = [];
    for (;;) {
      const end = this.#text.search(/[\r\n]/);
      // A carriage return at the end may be half of a line break.
      if (end < 0 || (this.#text[end] === "\r" && end === this.#text.length - 1)) break;
      const isPair = this.#text.startsWith("\r\n", end);
      const line = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + (isPair ? 2 : 1));
      const event = this.#takeLine(line);
      if (event !== undefined) events.push(event);
    }
    const length = this.#text.length + this.#data.reduce((sum, line) => sum + line.length, 0);
    if (length > EVENT_LENGTH_MAX) throw new RangeError("the event is too long");
    return events;
  }

  #takeLine(line: string): ServerEvent | undefined {
    if (line === "") return this.#takeEvent();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#event = value;
    else if (name === "id") this.#id = value;
    else if (name === "data") this.#data.push(value);
    return undefined;
  }

  #takeEvent(): ServerEvent | undefined {
    const { length } = this.#data;
    const event = { event: this.#event || "message", id: this.#id, data: this.#data.join("\n") };
    this.#event = "";
    this.#id = "";
    this.#data = [];
    return length === 0 ? undefined : event;
  }
}
