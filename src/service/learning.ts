// Parts of the service that look back on the evidence, each on threads of its own at low priority:
// weights (kaizen), reporters' credibility, back-tests of policies, and daily scores of the past.
import { loadDefaultConfig } from "../engine/config.ts";
import type { DataPaths } from "../journal/data-directory.ts";
import { buildBacktestRow, BacktestService } from "../kaizen/service/backtests.ts";
import { parseSeedRules, type SeedRules } from "../kaizen/credibility/seeds.ts";
import { DailyScoresService, type DailyScoresOptions } from "../kaizen/service/daily-scores.ts";
import { openCredibility } from "../kaizen/service/credibility-service.ts";
import type { OpenCredibility } from "../kaizen/service/credibility-service.ts";
import { openKaizen } from "../kaizen/service/schedule.ts";
import type { SharedPromotions } from "../kaizen/service/shared-promotions.ts";
import type { OpenKaizen } from "../kaizen/service/schedule.ts";
import type { Log } from "../platform/log.ts";
import type { SteadyClock } from "../platform/steady-clock.ts";
import type { OpenStore } from "../store/client.ts";
import type { OpenCluster } from "./cluster/cluster.ts";
import type { ServeConfig } from "./settings/config.ts";
import type { ServiceCore } from "./core.ts";

const SHIPPED_CONFIG = loadDefaultConfig();

/** Seeds whose credibility is shown on trial over the sample history, and one of its agents. */
const SAMPLE_SEEDS = parseSeedRules("agent://stark/*, agent://hooli/*");
const SAMPLE_AGENT = "agent://quickcash/loan-broker";
/** After the start: requests of a user who has just opened the console come first. */
const SAMPLE_RUN_DELAY_MS = 2000;
/** Interval at which imports are looked for. */
const IMPORT_CHECK_MS = 60_000;

/** The sample's seeds where the table holds the sample; else undefined. */
function findSampleSeeds(engine: ServiceCore["engine"], nowMs: number): SeedRules | undefined {
  return engine.check(SAMPLE_AGENT, 0, nowMs).isKnown ? SAMPLE_SEEDS : undefined;
}

export interface LearningServices {
  readonly kaizen: OpenKaizen;
  readonly credibility: OpenCredibility;
  readonly backtests: BacktestService;
  readonly dailyScores: DailyScoresService;
}

interface LearningDependencies {
  readonly paths: DataPaths;
  readonly store: OpenStore;
  readonly evidence: ServiceCore;
  readonly clock: Pick<SteadyClock, "now">;
  /** Of a cluster's other nodes; none while the service is alone. */
  readonly sharedWeights: SharedPromotions;
  readonly cluster: Pick<OpenCluster, "leaderships"> | undefined;
}

/**
 * After a start that loaded the sample: one dry run of kaizen and one batch of credibility, on their own threads,
 * so that their pages have something to show. Returns what cancels them while they wait.
 */
export function showSampleFindings({ kaizen, credibility }: LearningServices): () => void {
  const timer = setTimeout(() => {
    kaizen.kaizen.start({ isDryRun: true, isSignedOff: false, startedBy: "sample" });
    void credibility.credibility.refresh().catch(() => undefined);
  }, SAMPLE_RUN_DELAY_MS).unref();
  return () => clearTimeout(timer);
}

/** Opens them, and puts their ends on `closers`. */
export async function openLearning(
  config: ServeConfig,
  log: Log,
  { paths, store, evidence, sharedWeights, cluster, clock: keeper }: LearningDependencies,
  closers: { push(close: () => Promise<void>): unknown },
): Promise<LearningServices> {
  const { ledger, engine, notes } = evidence;
  const clock = keeper.now;
  const shared = { journal: paths.journal, ledger, clock, log };
  const { isCredibilityWanted: isWanted = SHIPPED_CONFIG.credibility, seeds } = config;
  const kaizen = await openKaizen(
    {
      ...shared,
      dataDir: paths.root,
      policies: evidence.policies,
      rowsMax: config.kaizenRows,
      evidenceKinds: config.kaizenEvidence,
      seeds: isWanted ? seeds : undefined,
      shared: cluster && sharedWeights,
      leadership: cluster?.leaderships.of("kaizen"),
    },
    config.isKaizenScheduled,
    store,
  );
  closers.push(() => kaizen.close());
  store.onRebuilt(() => void kaizen.catchUpRows());
  const credibility = await openCredibility({
    ...shared,
    engine,
    isWanted,
    rules: seeds,
    // An agent of that name in another history is no sample.
    ...(config.isSampleWanted && { findTrialRules: () => findSampleSeeds(engine, clock()) }),
    config: SHIPPED_CONFIG,
    leadership: cluster?.leaderships.of("credibility"),
  });
  closers.push(() => credibility.close());
  const backtests = new BacktestService({
    ...shared,
    dataDir: paths.root,
    policies: evidence.policies,
    weights: () => kaizen.kaizen.weights(),
    unitOfAccount: config.console.unitOfAccount,
    onEnd: (ended) => {
      notes.recordNote("backtests", buildBacktestRow(ended, clock())).catch((error: unknown) => {
        log.warn("backtest_not_on_record", { detail: (error as Error).message });
      });
    },
  });
  closers.push(() => backtests.close());
  const dailyScores = openDailyScores(
    { ...shared, store, keptDays: config.outcomesKeptDays },
    kaizen,
    closers,
  );
  return { kaizen, credibility, backtests, dailyScores };
}

/** Checks for imports from here on, also for those of a time when no service ran. */
function openDailyScores(
  options: Omit<DailyScoresOptions, "configs" | "fold">,
  { kaizen }: OpenKaizen,
  closers: { push(close: () => Promise<void>): unknown },
): DailyScoresService {
  const configs = () => kaizen.configs.periods();
  const dailyScores = new DailyScoresService({ ...options, configs, fold: SHIPPED_CONFIG });
  const timer = setInterval(() => void dailyScores.rebuildIfImported(), IMPORT_CHECK_MS).unref();
  closers.push(() => {
    clearInterval(timer);
    return dailyScores.close();
  });
  return dailyScores;
}
