// The store opened on the files of a data directory that no server holds. Scores are no rows of the
// journal: for those the table is replayed, which takes a snapshot's time.
import { readEnvironment } from "./environment.ts";
import { readSetting } from "../service/settings/settings.ts";
import { type OpenStore, startStore } from "../store/client.ts";
import { withCoreOnFiles } from "./file-core.ts";
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
    timeZone: readSetting("timeZone", undefined, readEnvironment()),
    log: (event, detail) => printNote(`${event}: ${detail}`),
  });
  try {
    if (!hasScores) return await work(store);
    return await withCoreOnFiles(dataDir, ({ engineMemory }) => {
      store.setAgentTable(engineMemory);
      return work(store);
    });
  } finally {
    await store.close();
  }
}
