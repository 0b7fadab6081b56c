// An open database with its connections: one that writes, one for reads without a deadline, one for
// small look-ups that an answer waits for.
import { type Connection, type Database, openDatabase } from "./duckdb.ts";

export class Connections {
  readonly writer: Connection;
  readonly reader: Connection;
  readonly finder: Connection;
  readonly #database: Database;

  private constructor(database: Database, connections: readonly Connection[]) {
    this.#database = database;
    [this.writer, this.reader, this.finder] = connections as [Connection, Connection, Connection];
  }

  /** @throws DuckDB's error when the file does not open. */
  static async open(
    path: string,
    memoryMegabytes: number,
    exportDirectory: string,
    timeZone: string | undefined,
  ): Promise<Connections> {
    const database = await openDatabase(path, memoryMegabytes, exportDirectory, timeZone);
    const connections = [];
    for (let count = 0; count < 3; count++) connections.push(await database.connect());
    return new Connections(database, connections);
  }

  /** One more connection; the caller has to close it. */
  another(): Promise<Connection> {
    return this.#database.connect();
  }

  /** Connections before instance, or the file stays locked. */
  close(): void {
    for (const connection of [this.finder, this.reader, this.writer]) connection.close();
    this.#database.close();
  }
}
