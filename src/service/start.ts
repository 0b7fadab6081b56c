// Composition root: opens everything behind one data directory in order of dependence, and closes
// it in the opposite order. Holds no decisions of its own.
import { PolicyDiffs } from "../bureau/policy-diffs.ts";
import { listStandingConditions, type ServiceCore } from "./core.ts";
import { randomBytes } from "node:crypto";

import { throwCommandFailure, EXIT_FAILED } from "./failure.ts";
import type { ServeConfig } from "./settings/config.ts";
import type { KeyDescription } from "../contract/schemas/service.ts";
import { SCOPES } from "../contract/vocabulary.ts";
import { type ServiceStorage, openStorage, publishServiceUrl } from "./storage.ts";
import { closeAll, type Closer, type FatalHandler } from "./closers.ts";
import { startIndexing } from "../threads/texts/indexing.ts";
import { type RemoteEventHandlers, parseStoredKey } from "./cluster/remote-events.ts";
import { JournalSegmentFiles } from "./cluster/journal-segments.ts";
import { openListeners } from "./listeners.ts";
import type { Keyring } from "../http/access/keyring.ts";
import { Console, createConsoleLink } from "../http/console/console.ts";
import { KaizenReportLinks, SharedReportLinks } from "../http/access/report-links.ts";
import type { HttpDependencies } from "../http/services.ts";
import { collectMetrics } from "./health/metrics.ts";
import { MemorySampler } from "./health/memory.ts";
import { buildServiceStatus } from "./health/status.ts";
import { watchFindings } from "./health/finding-monitor.ts";
import { createHealthProbe } from "./health/readiness.ts";
import { SignedCounter } from "./health/signed-counter.ts";
import type { Log } from "../platform/log.ts";
import { openSignals } from "./signals.ts";
import { ThreadHeaps } from "../platform/thread-heaps.ts";
import { type LearningServices, openLearning, showSampleFindings } from "./learning.ts";
import { openReporters, type ReporterServices } from "./reporters.ts";
import type { WebhookThreadClient } from "../threads/webhooks/thread-client.ts";
import { openScoringPool, type ScoringPool } from "../threads/scoring/pool.ts";
import { openClock } from "./clock.ts";
import { type Metering, openMetering } from "./usage/metering.ts";
import { openRequestWatch, type RequestWatchParts } from "./watch/sink.ts";
import { deriveSecret } from "../journal/signing-key.ts";
import { openSigningKeys } from "./signing-keys.ts";
import type { ChangeFollowers } from "../http/changes/followers.ts";
import { openChanges } from "./open-changes.ts";
import { ChangeBroadcaster } from "./change-broadcaster.ts";
import { openWebhooks } from "./webhooks.ts";
import { buildServiceUrl, readPackageVersion } from "./identity.ts";

/** The close of the listeners to the exit is promised within 10 s; the rest is for syncing and closing. */
const IN_FLIGHT_MS_MAX = 7000;
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
  /** An admin key that an earlier start or command made and that is valid; its text is not stored. */
  readonly storedAdminKey: KeyDescription | undefined;
  /** Opens the console once, within minutes; undefined where no browser here could. */
  readonly consoleLink: string | undefined;
  /** Outcomes of the sample history loaded by this start. */
  readonly sampleCount: number;
  readonly replayedCount: number;
  readonly agentCount: number;
  /** Whether anything is known of an agent. */
  hasRecord(agent: string): boolean;
  /** True when a thread did not end in time: native code of the store or the archive still runs. */
  readonly isThreadLate: boolean;
  /** `/readyz` answers 503 from now on; everything is still served. */
  drain(): void;
  /** No new connections, then answers to requests in flight, sync, close. */
  close(): Promise<void>;
}

const THREAD_FAILED = "an HTTP thread has failed: ending, the log says why";

/**
 * Opens everything and listens. Everything opened before a failure is closed again.
 * @throws DataDirectoryInUse, JournalDamaged, or the listener's error when the port is taken.
 */
export async function startService(
  config: ServeConfig,
  log: Log,
  onFatal: FatalHandler,
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
  onFatal: FatalHandler,
  closers: Closer[],
): Promise<Service> {
  const [subscribers, heaps] = [new ChangeBroadcaster(), openThreadHeaps(closers)];
  const clock = openClock(log, closers);
  const ground = await openStorage({ config, log, onFatal, closers, subscribers, clock });
  const { claim, keyring, evidence } = ground;
  const { ledger, engine } = evidence;
  const reporting = openReporting(config, ground, subscribers, closers);
  await catchUpWithCluster(ground, reporting, log);
  // Its service id is there by now.
  ground.archive.start(ledger, clock.now);
  const isSampleDue = isSampleLoadedAtStart(config, ledger.position());
  const sample = isSampleDue ? beginSample(ground, closers) : Promise.resolve(0);
  const learning = await openLearning(config, log, ground, closers);
  const webhooks = openWebhooks(config, ground, log, closers);
  const changes = openChanges(config, log, { ...ground, subscribers }, closers);
  const scorer = openScorer(config, ground, closers);
  subscribers.scorer = scorer;
  const metering = await openMetering(config.httpThreads, ground, log, closers);
  const watching = await openRequestWatch(config.watch, log, clock.now, closers);
  watchFindings(ground, log, closers);
  const signals = await openSignals(config.signalsFile, ground, log, closers);
  const counters = openCounters(ground, heaps, closers);
  const opened = { scorer, reporting, webhooks, changes, signals, ...counters };
  const parts = { ...ground, ...learning, ...metering, ...watching, ...opened };
  const sampleCount = await sample;
  const dependencies = buildHttpDependencies(config, log, parts);
  const opening = { ...parts, dependencies, onBroken: () => onFatal(EXIT_FAILED, THREAD_FAILED) };
  const listeners = await openListeners(config, log, opening).catch(throwCommandFailure);
  closers.push(() => listeners.close(IN_FLIGHT_MS_MAX));
  closers.push(() => ground.store.endQueriesSoon(), startReviewTimers(evidence, clock.now));
  if (isSampleDue && config.isKaizenScheduled) closers.push(showSampleFindings(learning));
  subscribers.attach(listeners);
  // Only now: a key made by a start that then failed would exist and never have been shown.
  const newAdminKey = keyring.hasAdmin() ? undefined : await makeAdminKey(keyring);
  const url = buildServiceUrl(config, listeners.port);
  closers.push(startIndexing(evidence.sources.vault.memory, log), publishServiceUrl(claim, url));
  let closing: Promise<void> | undefined;
  return {
    url,
    adapter: listeners.adapter,
    metricsUrl: listeners.metricsUrl,
    grpcPort: listeners.grpcPort,
    version: readPackageVersion(),
    newAdminKey,
    storedAdminKey: findAdminKey(keyring),
    consoleLink: createConsoleLink(dependencies.console, keyring, url),
    sampleCount,
    replayedCount: ledger.replay.outcomes,
    agentCount: engine.agentCount,
    hasRecord: (agent) => engine.check(agent, 0, clock.now()).isKnown,
    get isThreadLate() {
      return ground.store.hasCloseTimedOut || ground.archive.isLate;
    },
    drain: () => listeners.drain(),
    close: () => (closing ??= closeAll(closers)),
  };
}

/** Loads the sample while the caller opens what follows: it waits for other threads half of its time. */
function beginSample(ground: ServiceStorage, closers: Closer[]): Promise<number> {
  const sample = loadSample(ground, ground.clock.now());
  const end = sample.then(
    () => undefined,
    () => undefined,
  );
  closers.push(() => end);
  return sample;
}

/** A node of a cluster has what the others have. */
function isSampleLoadedAtStart(config: ServeConfig, position: number): boolean {
  return config.cluster === undefined && config.isSampleWanted && position === 0;
}

/** Before any thread starts: it sees those alone that start later. */
function openThreadHeaps(closers: Closer[]): ThreadHeaps {
  const heaps = new ThreadHeaps();
  closers.push(() => heaps.close());
  return heaps;
}

function openCounters(ground: ServiceStorage, heaps: ThreadHeaps, closers: Closer[]) {
  const { engine, sources } = ground.evidence;
  const wasmBytes = () => ({
    table: engine.memoryBytes,
    texts: sources.vault.memory.grounding.buffer.byteLength,
  });
  const memory = new MemorySampler({ heaps, store: ground.store, wasmBytes });
  return { memory, signedCounter: openSignedCounter(ground, closers) };
}

function openReporting(
  config: ServeConfig,
  ground: ServiceStorage,
  subscribers: ChangeBroadcaster,
  closers: Closer[],
): ReporterServices {
  const { claim, evidence, store, clock, cluster } = ground;
  const reporting = openReporters({
    ...config,
    paths: claim.paths,
    ledger: evidence.ledger,
    store,
    policies: evidence.policies,
    engine: evidence.engine,
    registry: evidence.registry,
    onRegistryEvent: (event) => subscribers.sendRegistryEvent(event),
    nonceSecret: cluster && deriveSecret(claim.paths.bureauKey, "nonces"),
    clock: clock.now,
  });
  closers.push(() => reporting.close());
  return reporting;
}

/**
 * Takes up what other nodes have put on record so far, and follows them from here on. Alone: nothing.
 */
async function catchUpWithCluster(
  ground: ServiceStorage,
  reporting: ReporterServices,
  log: Log,
): Promise<void> {
  const { cluster, keyring, evidence, remote } = ground;
  if (cluster === undefined) return;
  for (const payload of evidence.ledger.access)
    await keyring.applyReplicatedKey(parseStoredKey(payload));
  remote.attach(buildEventLearners(ground, reporting, log));
  keyring.appendChangesTo((stored) =>
    evidence.ledger.appendApiKey(Buffer.from(JSON.stringify(stored))),
  );
  await cluster.caughtUp();
  await keyring.waitForChanges();
}

/** Parts that follow what other nodes have put on record. */
function buildEventLearners(
  { evidence, policies, conditions, keyring, sharedWeights }: ServiceStorage,
  reporting: ReporterServices,
  log: Log,
): RemoteEventHandlers {
  return {
    access: (stored) => {
      keyring.applyReplicatedKey(stored).catch((error: unknown) => {
        log.error("remote_event_failed", { detail: `a key: ${(error as Error).message}` });
      });
    },
    weights: (payload, lsn) => sharedWeights.learn(payload, lsn),
    policy: (event) => policies.applyRemotePolicy(event),
    condition: (event) => conditions.applyRemoteEvent(event),
    review: (event) => evidence.reviews.applyRemoteEvent(event),
    registry: (payload) => reporting.learn(payload),
    source: (payload, place) => evidence.sources.vault.replay(payload, place),
  };
}

/** Its module is loaded when it is due: it reads files of three formats, and most starts import nothing. */
async function loadSample({ evidence, decisions }: ServiceStorage, nowMs: number): Promise<number> {
  const target = { core: evidence, decisions: decisions.log };
  return (await import("./sample.ts")).loadSample(target, nowMs);
}

function openScorer(
  config: ServeConfig,
  { evidence, decisions, activity }: ServiceStorage,
  closers: Closer[],
) {
  const scorer = openScoringPool(config.scoring, {
    memory: evidence.engineMemory,
    vaultMemory: evidence.sources.vault.memory,
    policies: evidence.ledger.policies,
    conditions: listStandingConditions(evidence),
    isReservedEnabled: config.isReservedEnabled,
    decisionRings: decisions.poolRings,
    decisionBudget: decisions.budget,
    activityMemory: activity.memory,
    assessments: evidence.assessments,
    reviews: evidence.reviews.book.listRulings(),
    onAsked: (asked) => evidence.reviews.addCalls(asked),
  });
  closers.push(() => scorer?.close());
  return scorer;
}

function openSignedCounter({ evidence, store, clock }: ServiceStorage, closers: Closer[]) {
  const { engine, registry } = evidence;
  const isNeeded = () => !engine.areStandingsInForce && registry.owners.listUnvouched().length > 0;
  const counter = new SignedCounter({ store, isNeeded, clock: clock.now });
  closers.push(() => counter.close());
  return counter;
}

interface ServiceParts extends ServiceStorage, LearningServices, Metering, RequestWatchParts {
  scorer: ScoringPool | undefined;
  reporting: ReporterServices;
  webhooks: WebhookThreadClient;
  changes: ChangeFollowers;
  signedCounter: SignedCounter;
  memory: MemorySampler;
  signals: Awaited<ReturnType<typeof openSignals>>;
}

function openPolicyDiffs({ evidence, store }: ServiceStorage): PolicyDiffs {
  return new PolicyDiffs({
    services: evidence,
    listDecisions: (filter) => store.listDecisions(filter),
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
  });
}

function buildHttpDependencies(
  config: ServeConfig,
  log: Log,
  parts: ServiceParts,
): HttpDependencies {
  const { evidence, keyring, store, scorer, kaizen, credibility } = parts;
  const signingKeys = openSigningKeys(parts);
  return {
    bureau: evidence.bureau,
    keyring,
    store,
    notes: evidence.notes,
    vault: evidence.sources.vault,
    policies: parts.policies,
    conditions: parts.conditions,
    signals: parts.signals,
    reviews: evidence.reviews,
    backtests: parts.backtests,
    policyDiffs: openPolicyDiffs(parts),
    reporters: parts.reporting.reporterKeys,
    namespaces: parts.reporting.namespaces,
    webhooks: parts.webhooks,
    changes: parts.changes,
    console: new Console(config.console, { keyring, clock: parts.clock.now, randomBytes }),
    signingKeys,
    sharedReports: new SharedReportLinks({
      signingKeys,
      clock: parts.clock.now,
      findValidPrincipal: (keyId) => keyring.findValidPrincipal(keyId),
    }),
    kaizen: kaizen.kaizen,
    reportLinks: new KaizenReportLinks(randomBytes(LINK_KEY_BYTES), parts.clock.now),
    credibility: credibility.credibility,
    dailyScores: parts.dailyScores,
    scorer,
    clock: parts.clock.now,
    logger: log,
    rateLimits: config.rateLimits,
    queueMsMax: config.queueMsMax,
    usage: parts.usageMeter,
    usageBook: parts.usageBook,
    lagGuard: parts.cluster?.lagGuard(parts.clock.now),
    quotaGuard: parts.quotaGuard,
    quotas: parts.quotas,
    health: createHealthProbe(config, log, parts),
    version: readPackageVersion(),
    figures: () => collectMetrics(parts),
    status: () => buildServiceStatus(config, parts),
    cluster: () => parts.cluster?.overview(),
    effect: parts.cluster && (() => parts.cluster!.effect.now()),
    ...(parts.cluster && { segments: new JournalSegmentFiles(parts.claim.paths.journal) }),
    watch: parts.watch,
  };
}

async function makeAdminKey(keyring: Keyring): Promise<string> {
  const scopes = SCOPES.filter((scope) => scope === "admin");
  const label = "first start";
  const { key } = await keyring.create({ tenant: "operator", scopes, isFirstParty: true, label });
  return key;
}

function findAdminKey(keyring: Keyring): KeyDescription | undefined {
  const isValid = (id: string) => keyring.findValidPrincipal(id) !== undefined;
  return keyring.list().find((key) => key.scopes.includes("admin") && isValid(key.key_id));
}

const COUNT_INTERVAL_MS = 1000;
/** A crash loses the calls counted since: the review itself is journaled when it opens. */
const JOURNAL_INTERVAL_MS = 5000;
const SWEEP_INTERVAL_MS = 250;

/** Starts the timers; returns what ends them and all waiting. Call it before the listeners close. */
function startReviewTimers(
  { reviews, reviewDesk }: Pick<ServiceCore, "reviews" | "reviewDesk">,
  clock: () => number,
): () => void {
  const timers = [
    setInterval(() => reviewDesk.flush(clock()), COUNT_INTERVAL_MS),
    setInterval(() => void reviews.flush(), JOURNAL_INTERVAL_MS),
    setInterval(() => reviews.waiters.endExpired(), SWEEP_INTERVAL_MS),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
    reviews.waiters.endAll();
  };
}
