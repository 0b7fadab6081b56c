// Storage of a service: claims the data directory, then opens keys, store and core in order of dependence.
import { claimDataDirectory, type DataDirectoryClaim } from "../journal/data-directory.ts";
import { writeServerAddress, removeOwnServerAddress } from "../journal/ownership/server-address.ts";
import type { Log } from "../platform/log.ts";
import type { ServeConfig } from "./settings/config.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { MigratedNote } from "../contract/notes.ts";
import { type OpenCluster, openCluster } from "./cluster/cluster.ts";
import { RemoteEventRouter } from "./cluster/remote-events.ts";
import { ServiceArchive } from "./archive.ts";
import { type ServiceCore, openServiceCore } from "./core.ts";
import type { Closer, FatalHandler } from "./closers.ts";
import { openDecisionLog, type OpenDecisionLog } from "./decision-log.ts";
import { throwCommandFailure, EXIT_DAMAGED } from "./failure.ts";
import { claimSockets } from "./sockets.ts";
import type { ChangeBroadcaster } from "./change-broadcaster.ts";
import { SharedPromotions } from "../kaizen/service/shared-promotions.ts";
import { Conditions } from "../bureau/conditions.ts";
import { TenantPolicies } from "../bureau/policies.ts";
import { type StoredKey, hasKeyFile, writeKeyFile } from "../http/access/key-file.ts";
import { type Keyring, openKeyring } from "../http/access/keyring.ts";
import { probePort } from "../http/server/port-probe.ts";
import { JournalEndLost } from "../journal/faults.ts";
import { diskFileLayer } from "../platform/files.ts";
import { raiseHighWater } from "../ledger/snapshot/high-water.ts";
import { computeDefaultThreads } from "../platform/pool.ts";
import type { SteadyClockWriter } from "../platform/steady-clock.ts";
import { type OpenStore, startStore } from "../store/client.ts";
import { openActivity } from "./activity.ts";
import { createDecisionBudget } from "../store/decisions/budget.ts";

const JOURNAL_FAILED =
  "the journal could not be written or synced: ending, nothing unsynced was acknowledged";

interface StorageOptions {
  readonly config: ServeConfig;
  readonly log: Log;
  readonly onFatal: FatalHandler;
  /** Gets what closes each part, in order of opening. */
  readonly closers: Closer[];
  readonly subscribers: ChangeBroadcaster;
  readonly clock: SteadyClockWriter;
}

/** Opens the data directory and its contents: keys, store, core. */
export async function openStorage(options: StorageOptions) {
  const { config, log, onFatal, closers, subscribers, clock } = options;
  const claim = await claimServiceDirectory(config, log);
  closers.push(() => claim.release());
  const archive = new ServiceArchive(config, claim.paths, log);
  closers.push(() => archive.close());
  // Checked before a long journal is replayed; the servers check again when they listen.
  if (config.isTcpWanted && config.port > 0) {
    await probePort(config.host, config.port).catch(throwCommandFailure);
  }
  const sockets = await claimSockets(config, closers);
  const { paths } = claim;
  const isKeyFileThere = hasKeyFile(paths.root);
  const keyring = await openServiceKeyring(options, paths.root);
  const decisions = openServiceDecisionLog(config, clock.now);
  const activity = openActivity(paths.root, clock.now, log);
  closers.push(() => activity.close());
  const store = await openStore(config, log, decisions, (position, durableLsn) => {
    raiseHighWater(diskFileLayer, paths.root, position);
    onFatal(EXIT_DAMAGED, new JournalEndLost(durableLsn, position, "the store").message);
  });
  closers.push(() => store.close());
  closers.push(() => decisions.flush());
  const cluster = await joinCluster(options, claim, store);
  const remote = new RemoteEventRouter((detail) => log.error("remote_event_failed", { detail }));
  closers.push(() => cluster?.close());
  const endBoth = endCatchingUpFirst(cluster, onFatal);
  const evidence = await openServiceCore({
    stream: cluster?.link,
    onRemote: remote.take,
    ...subscribers.feedOptions,
    clock: clock.now,
    dataDir: paths.root,
    isReservedEnabled: config.isReservedEnabled,
    onFatal: endBoth,
    storePort: store.ledgerPort,
    decisions: decisions.log,
    activity: activity.activity,
    ...config.journal,
    sourcesPerTenant: config.sourcesPerTenant,
    log,
    onReviewNews: (news) => subscribers.sendReview(news),
    onTable: (memory) => {
      subscribers.rebind(memory);
      store.setAgentTable(memory);
    },
  });
  closers.push(() => evidence.close());
  const hasRecords = evidence.ledger.position() > 0;
  if (!isKeyFileThere && !hasRecords) await writeKeyFile(paths.root, keyring.listStoredKeys());
  // Without a cluster, whose journal has the keys, the file is there from the first start on.
  const isKeyFileLost = !isKeyFileThere && hasRecords && cluster === undefined;
  clock.begin(evidence.ledger.replay.lastRecordMs);
  store.setAgentTable(evidence.ledger.engineMemory);
  void moveOldNotes(store, evidence, log);
  const commands = openOperatorCommands(evidence, subscribers, clock);
  const parts = { claim, paths, sockets, archive, keyring, decisions, activity, store, evidence };
  const sharedWeights = new SharedPromotions(evidence.ledger.weights);
  return { ...parts, ...commands, clock, cluster, remote, sharedWeights, isKeyFileLost };
}

async function openServiceKeyring(
  { config, clock, subscribers }: StorageOptions,
  dataDir: string,
): Promise<Keyring> {
  const onChange = (stored: StoredKey) => subscribers.sendKey(stored);
  const keyring = await openKeyring({ dataDir, now: clock.now, onChange });
  if (config.adminKey !== undefined) keyring.installAdminKey(config.adminKey);
  return keyring;
}

/** Undefined where the process is the whole bureau. */
async function joinCluster(
  { config: { cluster: config }, log, onFatal }: StorageOptions,
  claim: DataDirectoryClaim,
  store: OpenStore,
) {
  if (config === undefined) return undefined;
  const written = () => store.status().spoolMark;
  return openCluster({ config, claim, log, onFatal, written });
}

/** What operators change: policies and conditions. */
function openOperatorCommands(
  { ledger, policies: policyBook, conditions: conditionBook, reviews }: ServiceCore,
  subscribers: ChangeBroadcaster,
  clock: SteadyClockWriter,
) {
  const policies = new TenantPolicies({
    log: ledger,
    book: policyBook,
    onPolicy: (event) => subscribers.sendPolicy(event),
    clock: clock.now,
  });
  const conditions = new Conditions({
    log: ledger,
    book: conditionBook,
    reviews,
    onEvent: (event) => subscribers.sendCondition(event),
    clock: clock.now,
  });
  return { policies, conditions };
}

export type ServiceStorage = Awaited<ReturnType<typeof openStorage>>;

function openServiceDecisionLog(config: ServeConfig, clock: () => number): OpenDecisionLog {
  const { httpThreads, scoring, decisionsBytesPerDay } = config;
  const poolThreads = scoring === "inline" ? 0 : computeDefaultThreads();
  const budget = createDecisionBudget(decisionsBytesPerDay, clock());
  return openDecisionLog(httpThreads, poolThreads, budget, clock);
}

function openStore(
  config: ServeConfig,
  log: Log,
  decisions: OpenDecisionLog,
  onAhead: (position: number, durableLsn: number) => void,
): Promise<OpenStore> {
  return startStore({
    onJournalEndLost: onAhead,
    dataDir: config.dataDir,
    node: config.cluster?.node,
    rings: decisions.rings,
    decisionBudget: decisions.budget,
    decisionsKeptDays: config.decisionsKeptDays,
    outcomesKeptDays: config.outcomesKeptDays,
    provenanceKeptDays: config.provenanceKeptDays,
    memoryMegabytes: config.storeMemoryMegabytes,
    timeZone: config.timeZone,
    queryMemoryMegabytes: config.queryMemoryMegabytes,
    log: (event, detail) => log.warn(event, { detail }),
  });
}

interface NoteSource {
  listUnjournaledNotes(): Promise<MigratedNote[]>;
  waitUntilApplied(position: number): Promise<void>;
}

interface NoteTarget {
  readonly ledger: { position(): number };
  readonly notes: { move(note: MigratedNote): Promise<number> };
}

/**
 * Moves them all, a part at a time. Never rejects: the next start goes on where this one ended. A
 * row that was journaled and not yet replaced is found first, because the store is up by then.
 */
async function moveOldNotes(
  store: NoteSource,
  { ledger, notes }: NoteTarget,
  log: Log,
): Promise<void> {
  let count = 0;
  try {
    await store.waitUntilApplied(ledger.position());
    for (;;) {
      const found = await store.listUnjournaledNotes();
      if (found.length === 0) break;
      let position = 0;
      for (const note of found) position = await notes.move(note);
      await store.waitUntilApplied(position);
      count += found.length;
    }
    if (count > 0) log.info("notes_moved", { detail: `${count} notes are in the journal now` });
  } catch (error) {
    // The service ends: nothing worth a line.
    if (error instanceof ServiceFault && error.code === "store_unavailable") return;
    log.warn("notes_not_moved", { detail: (error as Error).message });
  }
}

/** @throws DataDirectoryInUse when its owner has not ended in time, DataDirectoryUnusable. */
function claimServiceDirectory(config: ServeConfig, log: Log): Promise<DataDirectoryClaim> {
  return claimDataDirectory(config.dataDir, {
    waitMs: config.ownerWaitMs,
    onWait: (detail) => log.warn("data_directory_waiting", { detail }),
    onCopy: (detail) => log.warn("data_directory_copied", { detail }),
  });
}

/** Tells commands where the service listens; returns what takes it back. */
export function publishServiceUrl({ paths, owner }: DataDirectoryClaim, url: string): () => void {
  writeServerAddress(paths.root, owner, url);
  return () => removeOwnServerAddress(paths.root, owner);
}

/** A start that waits for the log must not wait on once the ledger has failed. */
function endCatchingUpFirst(cluster: OpenCluster | undefined, onFatal: FatalHandler) {
  return (exitCode: number, why = JOURNAL_FAILED) => {
    cluster?.endCatchingUp(why, exitCode);
    onFatal(exitCode, why);
  };
}
