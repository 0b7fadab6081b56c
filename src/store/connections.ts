// An open database with its connections: one that writes, one for reads without a deadline, one for
// small look-ups that an answer waits for, one for the decision log.
import { type Connection, type DuckDatabase, openDatabase, type SpillOptions } from "./duckdb.ts";

export class DatabaseConnections {
  readonly writer: Connection;
  readonly reader: Connection;
  readonly lookupReader: Connection;
  /** Of the decision log. */
  readonly #logReader: Connection;
  readonly #database: DuckDatabase;

  private constructor(database: DuckDatabase, connections: readonly Connection[]) {
    this.#database = database;
    [this.writer, this.reader, this.lookupReader, this.#logReader] = connections as [
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
    spill?: SpillOptions,
  ): Promise<DatabaseConnections> {
    const more = spill && { spill };
    const database = await openDatabase(path, memoryMegabytes, exportDirectory, timeZone, more);
    const connections = [];
    for (let count = 0; count < 4; count++) connections.push(await database.connect());
    return new DatabaseConnections(database, connections);
  }

  /** One more connection; the caller has to close it. */
  openAnother(): Promise<Connection> {
    return this.#database.connect();
  }

  /** The same database with the decision log's own connection to read it. */
  withLogReader(): DatabaseConnections {
    const { writer, lookupReader } = this;
    return new DatabaseConnections(this.#database, [
      writer,
      this.#logReader,
      lookupReader,
      this.reader,
    ]);
  }

  /** Connections before instance, or the file stays locked. */
  close(): void {
    for (const connection of [this.#logReader, this.lookupReader, this.reader, this.writer])
      connection.close();
    this.#database.close();
  }
}
