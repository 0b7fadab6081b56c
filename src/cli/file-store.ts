// The store opened on the files of a data directory that no server holds. Scores are no rows of the
// journal: for those the table is replayed, which takes a snapshot's time.
import { environment } from "./environment.ts";
import { openCore } from "../service/core.ts";
import { parseTimeZone, parseTableBytesMax } from "../service/settings/config.ts";
import { commandLog } from "./logging/command-log.ts";
import { type OpenStore, startStore } from "../store/client.ts";
import { note } from "./output.ts";

/** Runs `work` on a store that has applied the whole journal; `hasScores`: with current scores. */
export async function withStore<T>(
  dataDir: string,
  hasScores: boolean,
  work: (store: OpenStore) => Promise<T>,
): Promise<T> {
  const store = await startStore({
    dataDir,
    isStandalone: true,
    timeZone: parseTimeZone(environment()),
    log: (event, detail) => note(`${event}: ${detail}`),
  });
  try {
    return await (hasScores ? onTable(dataDir, store, work) : work(store));
  } finally {
    await store.close();
  }
}

async function onTable<T>(
  dataDir: string,
  store: OpenStore,
  work: (store: OpenStore) => Promise<T>,
): Promise<T> {
  const log = commandLog();
  const { ledger } = await openCore({
    dataDir,
    isReservedEnabled: false,
    tableBytesMax: parseTableBytesMax(environment()),
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
