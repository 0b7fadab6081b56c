// Service core opened on the files of a data directory that no server holds, for one piece of work of a command.
import { type Log, createLog } from "../platform/log.ts";
import { openServiceCore, type ServiceCore } from "../service/core.ts";
import { CommandFailure } from "../service/failure.ts";
import { parseTableBytesMax } from "../service/settings/config.ts";
import { readEnvironment } from "./environment.ts";

/**
 * Replays the journal, runs `work`, and closes what it opened. `log` writes warnings and errors to stderr.
 * @throws CommandFailure when the journal's disk failed meanwhile.
 */
export async function withCoreOnFiles<T>(
  dataDir: string,
  work: (core: ServiceCore, log: Log) => T | Promise<T>,
): Promise<T> {
  const format = process.stderr.isTTY ? "human" : "json";
  const log = createLog((line) => process.stderr.write(line), Date.now, { level: "warn", format });
  let isBroken = false;
  const core = await openServiceCore({
    dataDir,
    isReservedEnabled: false,
    tableBytesMax: parseTableBytesMax(readEnvironment()),
    onFatal: () => (isBroken = true),
    log,
  });
  try {
    const result = await work(core, log);
    if (isBroken) throw new CommandFailure("the journal could not be written");
    return result;
  } finally {
    await core.close();
  }
}
