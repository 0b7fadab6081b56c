// `trustrank scores rebuild`: daily scores by a replay of the journal, here or by the server that holds the data.
import { resolveDataPaths } from "../journal/data-directory.ts";
import type { DailyScoreRebuild } from "../kaizen/kaizen.ts";
import { DailyScoresService } from "../kaizen/service/daily-scores.ts";
import { KaizenService } from "../kaizen/service/service.ts";
import { loadDefaultConfig } from "../engine/config.ts";
import { readSetting } from "../service/settings/settings.ts";
import { runOnFilesOrServer, type DataAccess } from "./data-access.ts";
import { readEnvironment } from "./environment.ts";
import { withCoreOnFiles } from "./file-core.ts";
import { withStoreOnFiles } from "./file-store.ts";
import { print, printJson, type OutputFlags } from "./output.ts";

/** Rebuilds them and prints which days were written. */
export async function rebuildDailyScores(access: DataAccess, flags: OutputFlags): Promise<void> {
  const found = await runOnFilesOrServer<DailyScoreRebuild>(access, rebuildOnFiles, (client) =>
    client.sendJson("POST", "/v1/scores/daily", {}),
  );
  if (flags.json === true) return printJson(found);
  const { days, rows, first_day: first, last_day: last, duration_ms: ms } = found;
  if (first === null) print("no outcome settled before today: nothing to rebuild");
  else print(`${rows} scores of ${days} days, ${first} to ${last}, in ${(ms / 1000).toFixed(1)} s`);
}

function rebuildOnFiles(dataDir: string): Promise<DailyScoreRebuild> {
  return withStoreOnFiles(dataDir, false, (store) =>
    withCoreOnFiles(dataDir, ({ ledger }, log) => {
      const shared = { journal: resolveDataPaths(dataDir).journal, ledger, clock: Date.now, log };
      const kaizen = new KaizenService({ ...shared, dataDir });
      const keptDays = readSetting("outcomesKeptDays", undefined, readEnvironment());
      const configs = () => kaizen.configs.periods();
      const fold = loadDefaultConfig();
      return new DailyScoresService({ ...shared, store, keptDays, configs, fold }).rebuild();
    }),
  );
}
