// The store opened on the files of a data directory that no server holds. Scores are no rows of the
// journal: for those the table is replayed, which takes a snapshot's time.
import { readEnvironment } from "./environment.ts";
import { openServiceCore } from "../service/core.ts";
import { parseTimeZone, parseTableBytesMax } from "../service/settings/config.ts";
import { createCommandLog } from "./logging/command-log.ts";
import { type OpenStore, startStore } from "../store/client.ts";
import { printNote } from "./output.ts";

/** Runs `work` on a store that has applied the whole journal; `hasScores`: with current scores. */
export async function withStoreOnFiles<T>(
  dataDir: string,
  hasScores: boolean,
  work: (store: OpenStore) => Promise<T>,
): Promise<T> {
  const store = await startStore({
    dataDir,
    isStandalone: true,
    timeZone: parseTimeZone(readEnvironment()),
    log: (event, detail) => printNote(`${event}: ${detail}`),
  });
  try {
    return await (hasScores ? runWithReplayedScores(dataDir, store, work) : work(store));
  } finally {
    await store.close();
  }
}

async function runWithReplayedScores<T>(
  dataDir: string,
  store: OpenStore,
  work: (store: OpenStore) => Promise<T>,
): Promise<T> {
  const log = createCommandLog();
  const { ledger } = await openServiceCore({
    dataDir,
    isReservedEnabled: false,
    tableBytesMax: parseTableBytesMax(readEnvironment()),
    onFatal: () => undefined,
    log,
  });
  try {
    store.setAgentTable(ledger.engineMemory);
    return await work(store);
  } finally {
    await ledger.close();
  }
}
