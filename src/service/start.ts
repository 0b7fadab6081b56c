// Composition root: opens everything behind one data directory in order of dependence, and closes
// it in the opposite order. Holds no decisions of its own.
import { randomBytes } from "node:crypto";

import { Policies } from "../bureau/policies.ts";
import { CommandFailure, EXIT_DAMAGED, EXIT_FAILED } from "./failure.ts";
import type { ServeConfig } from "./config.ts";
import { SCOPES } from "../contract/vocabulary.ts";
import { openDecisionLog, type OpenDecisionLog } from "./decision-log.ts";
import { defaultThreads } from "../platform/pool.ts";
import { startIndexing } from "../threads/texts/indexing.ts";
import { type Core, openCore } from "./core.ts";
import { openListeners } from "./listeners.ts";
import { type Keyring, openKeyring } from "../http/access/keyring.ts";
import { ReportLinks } from "../http/access/report-links.ts";
import { findPort } from "../http/server/port-probe.ts";
import type { HttpDependencies } from "../http/services.ts";
import { figuresOf } from "./health/figures.ts";
import { healthOf } from "./health/readiness.ts";
import { JournalEndLost } from "../journal/faults.ts";
import { nodeFiles } from "../journal/files.ts";
import { raiseHighWater } from "../ledger/snapshot/high-water.ts";
import { moveOldNotes } from "./old-notes.ts";
import type { Log } from "../platform/log.ts";
import { type Learning, openLearning } from "./learning.ts";
import { openReporters, type Reporters } from "./reporters.ts";
import { openScoringPool, type ScoringPool } from "../threads/scoring/pool.ts";
import type { ClockKeeper } from "../platform/steady-clock.ts";
import { openClock } from "./clock.ts";
import { announce, claimFor } from "./ownership.ts";
import { Subscribers } from "./subscribers.ts";
import { urlOf, versionOf } from "./identity.ts";
import { type OpenStore, startStore } from "../store/client.ts";

/** SIGTERM to exit is promised within 10 s; the rest is for syncing and closing. */
const DRAIN_MS = 7000;
const LINK_KEY_BYTES = 32;

/** A running service. */
export interface Service {
  readonly url: string;
  readonly adapter: string;
  /** Of the listener for metrics alone, where there is one. */
  readonly metricsUrl: string | undefined;
  /** Of Envoy's gRPC; undefined where it is off. */
  readonly grpcPort: number | undefined;
  readonly version: string;
  /** Set once, on the start that found no admin key. */
  readonly newAdminKey: string | undefined;
  /** Outcomes of the sample history loaded by this start. */
  readonly sampleCount: number;
  readonly replayedCount: number;
  readonly agentCount: number;
  /** True when the store's thread did not end in time: native code still runs there. */
  readonly isStoreLate: boolean;
  /** Not ready, then no new connections, then answers to requests in flight, sync, close. */
  close(): Promise<void>;
}

/** Called once when the service ends before its time, with the exit code to end with. */
export type OnFatal = (exitCode: number, why: string) => void;

const JOURNAL_FAILED =
  "the journal could not be written or synced: ending, nothing unsynced was acknowledged";
const THREAD_FAILED = "an HTTP thread has failed: ending, the log says why";

type Closer = () => Promise<void> | void;

/**
 * Opens everything and listens. Everything opened before a failure is closed again.
 * @throws DataDirectoryInUse, JournalDamaged, or the listener's error when the port is taken.
 */
export async function startService(
  config: ServeConfig,
  log: Log,
  onFatal: OnFatal,
): Promise<Service> {
  const closers: Closer[] = [];
  try {
    return await openService(config, log, onFatal, closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function openService(
  config: ServeConfig,
  log: Log,
  onFatal: OnFatal,
  closers: Closer[],
): Promise<Service> {
  const subscribers = new Subscribers();
  const clock = openClock(log, closers);
  const ground = await openGround(config, log, onFatal, closers, subscribers, clock);
  const { claim, keyring, decisions, evidence } = ground;
  const { ledger, engine, bureau } = evidence;
  const reporting = openReporters({
    ...config,
    paths: claim.paths,
    ledger,
    store: ground.store,
    onNamespaceEvent: (event) => {
      evidence.owners.apply(event);
      subscribers.sendNamespace(event);
    },
    clock: clock.now,
  });
  closers.push(() => reporting.close());
  const learning = await openLearning(config, log, ground, closers);
  const isSampleDue = config.isSampleWanted && ledger.position() === 0;
  // Loaded when due: the import reads files of three formats, and most starts import nothing.
  const sampleCount = isSampleDue
    ? await (await import("./sample.ts")).loadSample(bureau, clock.now())
    : 0;
  const scorer = openScorer(config, evidence, decisions);
  closers.push(() => scorer?.close());
  subscribers.scorer = scorer;
  const parts = { ...ground, ...learning, scorer, reporting };
  const onBroken = () => onFatal(EXIT_FAILED, THREAD_FAILED);
  const opening = { ...ground, scorer, dependencies: dependenciesOf(config, log, parts), onBroken };
  const listeners = await openListeners(config, log, opening).catch(asFailure);
  closers.push(() => listeners.close(DRAIN_MS));
  closers.push(() => ground.store.endQueries());
  subscribers.attach(listeners);
  // Only now: a key made by a start that then failed would exist and never have been shown.
  const newAdminKey = keyring.hasAdmin() ? undefined : await makeAdminKey(keyring);
  const url = urlOf(config.host, listeners.port);
  closers.push(startIndexing(evidence.sources.vault.memory, log), announce(claim, url));
  let closing: Promise<void> | undefined;
  return {
    url,
    adapter: listeners.adapter,
    metricsUrl: listeners.metricsUrl,
    grpcPort: listeners.grpcPort,
    version: versionOf(),
    newAdminKey,
    sampleCount,
    replayedCount: ledger.replay.outcomes,
    agentCount: engine.agentCount,
    get isStoreLate() {
      return ground.store.isLate;
    },
    // A second signal waits for the first.
    close: () => (closing ??= closeAll(closers)),
  };
}

/** Opens the data directory and its contents: keys, store, core. */
async function openGround(
  config: ServeConfig,
  log: Log,
  onFatal: OnFatal,
  closers: Closer[],
  subscribers: Subscribers,
  clock: ClockKeeper,
) {
  const claim = await claimFor(config, log);
  closers.push(() => claim.release());
  // Checked before a long journal is replayed; the servers check again when they listen.
  if (config.port > 0) await findPort(config.host, config.port).catch(asFailure);
  const { paths } = claim;
  const keyring = await openKeyring({
    dataDir: paths.root,
    now: clock.now,
    onChange: (stored) => subscribers.sendKey(stored),
  });
  if (config.adminKey !== undefined) keyring.installAdminKey(config.adminKey);
  const decisions = openDecisions(config);
  const store = await openStore(config, log, decisions, (position, durableLsn) => {
    raiseHighWater(nodeFiles, paths.root, position);
    onFatal(EXIT_DAMAGED, new JournalEndLost(durableLsn, position, "the store").message);
  });
  closers.push(() => store.close());
  closers.push(() => decisions.flush());
  const evidence = await openCore({
    clock: clock.now,
    dataDir: paths.root,
    isReservedEnabled: config.isReservedEnabled,
    onFatal: (exitCode, why) => onFatal(exitCode, why ?? JOURNAL_FAILED),
    storePort: store.ledgerPort,
    decisions: decisions.log,
    ...config.journal,
    sourcesPerTenant: config.sourcesPerTenant,
    log,
    onTable: (memory) => {
      subscribers.rebind(memory);
      store.showScores(memory);
    },
  });
  clock.begin(evidence.ledger.replay.lastRecordMs);
  store.showScores(evidence.ledger.engineMemory);
  closers.push(() => evidence.close());
  void moveOldNotes(store, evidence, log);
  const policies = new Policies({
    log: evidence.ledger,
    book: evidence.policies,
    onPolicy: (event) => subscribers.sendPolicy(event),
    clock: clock.now,
  });
  return { claim, paths, keyring, decisions, store, evidence, policies, clock };
}

type Ground = Awaited<ReturnType<typeof openGround>>;

function openDecisions(config: ServeConfig): OpenDecisionLog {
  const { httpThreads, scoring, decisionsPerSecond } = config;
  const poolThreads = scoring === "inline" ? 0 : defaultThreads();
  return openDecisionLog(httpThreads, poolThreads, decisionsPerSecond);
}

function openScorer(config: ServeConfig, evidence: Core, decisions: OpenDecisionLog) {
  return openScoringPool(config.scoring, {
    memory: evidence.engineMemory,
    vaultMemory: evidence.sources.vault.memory,
    policies: evidence.ledger.policies,
    isReservedEnabled: config.isReservedEnabled,
    decisionRings: decisions.poolRings,
    assessments: evidence.assessments,
  });
}

function openStore(
  config: ServeConfig,
  log: Log,
  decisions: OpenDecisionLog,
  onAhead: (position: number, durableLsn: number) => void,
): Promise<OpenStore> {
  return startStore({
    onAhead,
    dataDir: config.dataDir,
    rings: decisions.rings,
    decisionsKeptDays: config.decisionsKeptDays,
    outcomesKeptDays: config.outcomesKeptDays,
    provenanceKeptDays: config.provenanceKeptDays,
    memoryMegabytes: config.storeMemoryMegabytes,
    timeZone: config.timeZone,
    queryMemoryMegabytes: config.queryMemoryMegabytes,
    log: (event, detail) => log.warn(event, { detail }),
  });
}

/** A port that is taken is the operator's to mend: one sentence, no stack. */
function asFailure(error: unknown): never {
  throw new CommandFailure((error as Error).message);
}

interface Parts extends Ground, Learning {
  scorer: ScoringPool | undefined;
  reporting: Reporters;
}

function dependenciesOf(config: ServeConfig, log: Log, parts: Parts): HttpDependencies {
  const { evidence, keyring, store, scorer, kaizen, credibility } = parts;
  return {
    bureau: evidence.bureau,
    keyring,
    store,
    notes: evidence.notes,
    vault: evidence.sources.vault,
    policies: parts.policies,
    backtests: parts.backtests,
    reporters: parts.reporting.reporterKeys,
    namespaces: parts.reporting.namespaces,
    kaizen: kaizen.kaizen,
    reportLinks: new ReportLinks(randomBytes(LINK_KEY_BYTES), parts.clock.now),
    credibility: credibility.credibility,
    scorer,
    clock: parts.clock.now,
    logger: log,
    rateLimits: config.rateLimits,
    health: healthOf(config, log, keyring, evidence, store, parts.clock),
    version: versionOf(),
    figures: () => figuresOf(parts),
  };
}

/** Last opened, first closed; each is closed once, even if others fail. */
async function closeAll(closers: Closer[]): Promise<void> {
  let failure: unknown;
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    try {
      await close();
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
}

async function makeAdminKey(keyring: Keyring): Promise<string> {
  const scopes = SCOPES.filter((scope) => scope === "admin");
  const label = "first start";
  const { key } = await keyring.create({ tenant: "operator", scopes, isFirstParty: true, label });
  return key;
}
