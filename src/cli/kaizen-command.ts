// `trustrank kaizen`: starts a run and follows it, shows promotions and their reasons, takes one
// back. Works on the files when no server holds them: a promotion is then live at the next start.
import { writeFileSync } from "node:fs";
import { readEnvironment } from "./environment.ts";
import { parseCredibilityConfig } from "../service/settings/config.ts";
import { readSetting } from "../service/settings/settings.ts";
import { loadDefaultConfig } from "../engine/config.ts";
import { KaizenService } from "../kaizen/service/service.ts";
import { RUN_KIND_LABELS } from "../kaizen/report/labels.ts";
import { explainRun } from "../kaizen/report/plain.ts";
import type { Kaizen, KaizenStatus, RunRecord, RunSummary } from "../kaizen/kaizen.ts";
import { resolveDataPaths } from "../journal/data-directory.ts";
import { runOnFilesOrServer } from "./data-access.ts";
import type { DataAccess } from "./data-access.ts";
import { CommandFailure } from "../service/failure.ts";
import { withCoreOnFiles } from "./file-core.ts";
import { printNote, print, printJson, printTable, type OutputFlags } from "./output.ts";
import { Progress } from "./progress.ts";
import type { ServerClient } from "./server-client.ts";

const POLL_MS = 500;
const STAGE_SHARES: Readonly<Record<string, number>> = {
  waiting: 0,
  replay: 0,
  attacks: 0.5,
  check: 0.6,
  handshake: 0.8,
};

interface RunFlags {
  readonly dryRun?: boolean;
  readonly holdoutDays?: number;
  readonly signOff?: boolean;
  /** Epoch ms. */
  readonly asOf?: number;
}

/** A run as the server gives it: with a link to its report. */
type LinkedRun = RunRecord & { report?: { url: string; expires_at: string } };

/** The link as it is pasted into a browser. */
function completeReportUrl(run: LinkedRun, client: ServerClient): LinkedRun {
  const { report } = run;
  if (report === undefined) return run;
  return { ...run, report: { ...report, url: client.url + report.url } };
}

type KaizenRunsStatus = KaizenStatus & { runs: RunSummary[] };

/** Opens kaizen on the files for the time of `work`. */
function withKaizenOnFiles<T>(dataDir: string, work: (kaizen: KaizenService) => T | Promise<T>) {
  return withCoreOnFiles(dataDir, async ({ ledger }, log) => {
    const { isCredibilityWanted = loadDefaultConfig().credibility, seeds } =
      parseCredibilityConfig(readEnvironment());
    const kaizen = new KaizenService({
      dataDir,
      journal: resolveDataPaths(dataDir).journal,
      ledger,
      clock: Date.now,
      log,
      rowsMax: readSetting("kaizenRows", undefined, readEnvironment()),
      evidenceKinds: readSetting("kaizenEvidence", undefined, readEnvironment()),
      seeds: isCredibilityWanted ? seeds : undefined,
    });
    await kaizen.open();
    return work(kaizen);
  });
}

/** Progress of a run, 0 to 100; stages take their usual share of it. */
function computeRunPercent(running: KaizenStatus["running"]): number {
  if (running === undefined) return 100;
  const from = STAGE_SHARES[running.stage] ?? 0;
  return Math.round(100 * (running.stage === "replay" ? running.share / 2 : from));
}

async function showKaizenProgress<T>(
  done: Promise<T>,
  status: () => Promise<KaizenStatus>,
): Promise<T> {
  const progress = new Progress("kaizen", 100);
  const timer = setInterval(() => {
    void status().then(({ running }) => progress.update(computeRunPercent(running)));
  }, POLL_MS);
  try {
    return await done;
  } finally {
    clearInterval(timer);
    progress.stop();
  }
}

/** Starts a run, follows it and prints its findings. */
export async function runKaizen(access: DataAccess, flags: OutputFlags & RunFlags): Promise<void> {
  const run = await runOnFilesOrServer<LinkedRun>(
    access,
    (dataDir) => withKaizenOnFiles(dataDir, (kaizen) => runKaizenOnFiles(kaizen, flags)),
    (client) => runKaizenOnServer(client, flags),
  );
  if (flags.json === true) printJson(run);
  else printRun(run);
}

function runKaizenOnFiles(kaizen: Kaizen, flags: RunFlags) {
  const started = kaizen.start({
    isDryRun: flags.dryRun === true,
    isSignedOff: flags.signOff === true,
    startedBy: "command",
    ...(flags.holdoutDays === undefined ? {} : { holdoutDays: flags.holdoutDays }),
    ...(flags.asOf === undefined ? {} : { asOfMs: flags.asOf }),
  });
  if (started === undefined) throw new CommandFailure("a run is under way");
  return showKaizenProgress(started.done, async () => kaizen.status());
}

/** A start that loaded the sample makes a run by itself: one runs at a time. */
async function waitForEarlierRun(status: () => Promise<KaizenStatus>): Promise<void> {
  for (let noted = ""; ; await new Promise((resolve) => setTimeout(resolve, POLL_MS))) {
    const { running } = await status();
    if (running === undefined) return;
    if (noted !== running.run_id) printNote(`waiting for run ${running.run_id} to end`);
    noted = running.run_id;
  }
}

async function runKaizenOnServer(client: ServerClient, flags: RunFlags): Promise<LinkedRun> {
  const status = () => client.sendJson<KaizenRunsStatus>("GET", "/v1/kaizen/runs");
  await waitForEarlierRun(status);
  const started = await client.sendJson<{ run_id: string }>("POST", "/v1/kaizen/run", {
    wait: false,
    dry_run: flags.dryRun === true,
    sign_off: flags.signOff === true,
    holdout_days: flags.holdoutDays,
    as_of: flags.asOf,
  });
  const path = `/v1/kaizen/runs/${started.run_id}`;
  const ended = async () => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const run = await client.sendJson<LinkedRun>("GET", path);
      if (run.state !== "running") return completeReportUrl(run, client);
    }
  };
  return showKaizenProgress(ended(), status);
}

/** Prints the live config and every run, newest first. */
export async function showKaizenStatus(access: DataAccess, flags: OutputFlags): Promise<void> {
  const status = await runOnFilesOrServer<KaizenRunsStatus>(
    access,
    (dataDir) =>
      withKaizenOnFiles(dataDir, async (kaizen) => ({ ...kaizen.status(), runs: kaizen.runs() })),
    (client) => client.sendJson("GET", "/v1/kaizen/runs"),
  );
  if (flags.json === true) return printJson(status);
  const by = status.promoted_by === undefined ? "as shipped" : `promoted by ${status.promoted_by}`;
  printNote(`live: ${status.config_version}, ${by}`);
  for (const side of status.watch?.sides ?? []) {
    printNote(`${side.side}, new weights against old ones since: ${side.sentence}`);
  }
  const rows = status.runs.map((run) => [
    run.run_id,
    RUN_KIND_LABELS[run.kind ?? "full"].title,
    run.rolled_back === undefined ? run.state : "rolled back",
    run.rows,
    run.reason,
  ]);
  printTable(["run", "kind", "state", "rows", "reason"], rows);
}

/** Prints one run; its page goes to a file on request. */
export async function showRun(
  access: DataAccess,
  id: string,
  flags: OutputFlags & { report?: string },
): Promise<void> {
  const { run, page } = await runOnFilesOrServer<{
    run: LinkedRun | undefined;
    page: string | undefined;
  }>(
    access,
    (dataDir) =>
      withKaizenOnFiles(dataDir, async (kaizen) => ({
        run: kaizen.find(id),
        page: kaizen.report(id),
      })),
    async (client) => {
      const path = encodeURIComponent(id);
      const answer = await client.sendJson<LinkedRun>("GET", `/v1/kaizen/runs/${path}`);
      const found = completeReportUrl(answer, client);
      const html = await client.send({ method: "GET", path: `/v1/kaizen/reports/${path}` });
      return { run: found, page: html };
    },
  );
  if (run === undefined || page === undefined)
    throw new CommandFailure(`there is no run \`${id}\``);
  if (flags.report !== undefined) {
    writeFileSync(flags.report, page);
    printNote(`wrote ${flags.report}`);
  }
  if (flags.json === true) printJson(run);
  else printRun(run);
}

/** Promotes a finished dry run. */
export async function promoteRun(
  access: DataAccess,
  id: string,
  flags: OutputFlags & { reason: string },
): Promise<void> {
  const { reason } = flags;
  const run = await runOnFilesOrServer<LinkedRun | undefined>(
    access,
    (dataDir) =>
      withKaizenOnFiles(dataDir, (kaizen) => kaizen.promote(id, { by: "command", reason })),
    (client) => {
      const path = `/v1/kaizen/runs/${encodeURIComponent(id)}/promote`;
      return client.sendJson("POST", path, { reason });
    },
  );
  if (run === undefined) throw new CommandFailure(`there is no run \`${id}\``);
  if (flags.json === true) printJson(run);
  else print(`live: ${run.challenger_version} (promoted ${id})`);
}

/** Takes the newest promotion back. */
export async function rollBackKaizen(
  access: DataAccess,
  flags: OutputFlags & { reason?: string },
): Promise<void> {
  const reason = flags.reason ?? "by command";
  const done = await runOnFilesOrServer<{ config_version: string; run_id: string } | undefined>(
    access,
    (dataDir) => withKaizenOnFiles(dataDir, (kaizen) => kaizen.rollback(reason)),
    (client) => client.sendJson("POST", "/v1/kaizen/rollback", { reason }),
  );
  if (done === undefined) throw new CommandFailure("there is no promotion to take back");
  if (flags.json === true) printJson(done);
  else print(`live again: ${done.config_version} (took back ${done.run_id})`);
}

function printRun(run: LinkedRun): void {
  print(
    `${run.run_id} ${run.rolled_back === undefined ? run.state : "rolled back"}: ${run.reason}`,
  );
  for (const sentence of explainRun(run)) print(sentence);
  const { rows_by_kind: signed } = run;
  if (signed !== undefined) {
    const counts = Object.entries(signed).map(([kind, count]) => `${kind} ${count}`);
    print(`outcomes of all tenants together, by who signed: ${counts.join(", ")}`);
  }
  for (const side of run.findings?.sides ?? []) {
    print(`\n${side.side}: ${side.passed ? "passed" : "not promoted"}`);
    const { denial_border: border, rows: count } = side;
    if (border !== undefined) print(`denials: ${border}`);
    if (count.held_back !== undefined) {
      print(
        `${count.held_back} of ${count.holdout} tested outcomes are of agents that the live weights hold back ` +
          `at L2; ${count.decided ?? 0} name the decision they came of`,
      );
    }
    const rows = side.gates.map((gate) => [
      gate.id,
      gate.name,
      gate.passed ? "pass" : "FAIL",
      gate.sentence,
    ]);
    printTable(["gate", "name", "", "found"], rows);
  }
  if (run.report === undefined) printNote(`its page: kaizen show ${run.run_id} --report FILE`);
  else printNote(`its page, until ${run.report.expires_at}: ${run.report.url}`);
}
