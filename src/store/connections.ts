// An open database with its connections: one that writes, one for reads without a deadline, one for
// small look-ups that an answer waits for, one for the decision log.
import { type Connection, type Database, openDatabase, type Spill } from "./duckdb.ts";

export class Connections {
  readonly writer: Connection;
  readonly reader: Connection;
  readonly finder: Connection;
  /** Of the decision log. */
  readonly #logReader: Connection;
  readonly #database: Database;

  private constructor(database: Database, connections: readonly Connection[]) {
    this.#database = database;
    [this.writer, this.reader, this.finder, this.#logReader] = connections as [
      Connection,
      Connection,
      Connection,
      Connection,
    ];
  }

  /** @throws DuckDB's error when the file does not open. */
  static async open(
    path: string,
    memoryMegabytes: number,
    exportDirectory: string,
    timeZone: string | undefined,
    spill?: Spill,
  ): Promise<Connections> {
    const more = spill && { spill };
    const database = await openDatabase(path, memoryMegabytes, exportDirectory, timeZone, more);
    const connections = [];
    for (let count = 0; count < 4; count++) connections.push(await database.connect());
    return new Connections(database, connections);
  }

  /** One more connection; the caller has to close it. */
  another(): Promise<Connection> {
    return this.#database.connect();
  }

  /** The same database with the decision log's own connection to read it. */
  forLog(): Connections {
    const { writer, finder } = this;
    return new Connections(this.#database, [writer, this.#logReader, finder, this.reader]);
  }

  /** Connections before instance, or the file stays locked. */
  close(): void {
    for (const connection of [this.#logReader, this.finder, this.reader, this.writer])
      connection.close();
    this.#database.close();
  }
}
