// `trustrank kaizen credibility`: updates reporters' standings, or shows them. Works on the files
// when no server holds them.
import { readEnvironment } from "./environment.ts";
import { parseCredibilityConfig } from "../service/settings/config.ts";
import { CredibilityService } from "../kaizen/service/credibility-service.ts";
import { loadDefaultConfig } from "../engine/config.ts";
import type { CredibilityBatch, CredibilityStatus } from "../kaizen/kaizen.ts";
import { resolveDataPaths } from "../journal/data-directory.ts";
import { runOnFilesOrServer } from "./data-access.ts";
import type { DataAccess } from "./data-access.ts";
import { withCoreOnFiles } from "./file-core.ts";
import { printNote, print, printJson, type OutputFlags } from "./output.ts";

interface CredibilityAnswer {
  status: CredibilityStatus;
  batch?: CredibilityBatch;
}

const ROUTE = "/v1/kaizen/credibility";

/** Computes standings now, or with `status` only shows the present ones. */
export async function runCredibility(
  access: DataAccess,
  flags: OutputFlags & { status?: boolean },
): Promise<void> {
  const isStatus = flags.status === true;
  const { status, batch } = await runOnFilesOrServer<CredibilityAnswer>(
    access,
    (dataDir) => runCredibilityOnFiles(dataDir, isStatus),
    async (client) => {
      const done = isStatus
        ? {}
        : { batch: await client.sendJson<CredibilityBatch>("POST", ROUTE, {}) };
      return { status: await client.sendJson<CredibilityStatus>("GET", ROUTE), ...done };
    },
  );
  if (flags.json === true) printJson(batch ?? status);
  else printCredibility(status, batch ?? status.last);
}

function runCredibilityOnFiles(dataDir: string, isStatus: boolean): Promise<CredibilityAnswer> {
  return withCoreOnFiles(dataDir, async ({ ledger, engine }, log) => {
    const config = loadDefaultConfig();
    const { isCredibilityWanted, seeds } = parseCredibilityConfig(readEnvironment());
    const service = new CredibilityService({
      journal: resolveDataPaths(dataDir).journal,
      ledger,
      engine,
      isWanted: isCredibilityWanted ?? config.credibility,
      rules: seeds,
      config,
      clock: Date.now,
      log,
    });
    if (isStatus) return { status: service.status() };
    await service.open();
    const batch = await service.refresh();
    return { status: service.status(), batch };
  });
}

function printCredibility(status: CredibilityStatus, batch: CredibilityBatch | undefined): void {
  const inForce = status.in_force ? "in force" : "not in force: every reporter counts fully";
  printNote(`credibility is ${inForce}`);
  if (!status.is_wanted) printNote("it is switched off (TRUSTRANK_CREDIBILITY)");
  else if (!status.has_seeds) printNote("no seeds are named (TRUSTRANK_SEEDS)");
  if (batch === undefined) return;
  print(`${batch.reason}, up to position ${batch.position}, in ${batch.duration_ms} ms`);
  print(`${batch.rings} rings with ${batch.ring_members} members (view \`rings\`)`);
  if (status.warning !== undefined) printNote(status.warning);
  const { figures } = batch;
  if (figures === undefined) return;
  const share = (100 * figures.believed_share).toFixed(1);
  print(
    `${figures.seeds} seeds; ${figures.believed} of ${figures.reporters} reporters believed, ` +
      `who gave ${share} % of outcomes; ${figures.clusters} clusters; the records of ` +
      `${figures.discounted} agents rest on strangers; ${figures.changed} standings changed`,
  );
}
