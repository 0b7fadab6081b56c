// Entry of the ledger thread: opens the bureau key, the journal and the engine's one writer,
// replays, then serves. Composition only; the work is in ledger/loop.ts and ledger/core.ts.
import { existsSync, statSync } from "node:fs";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { loadDefaultConfig, type ScoringConfig } from "../engine/config.ts";
import { computeEngineDigest, openTableImage } from "../engine/image.ts";
import { openThreadClock } from "./clock.ts";
import { startScrubbing } from "./scrub-schedule.ts";
import { TABLE_MIB_MAX, convertMebibytesToTableBytes } from "../engine/table-use.ts";
import { computeEngineName, computeTableHash } from "../engine/table-hash.ts";
import { LiveTable } from "../engine/live-table.ts";
import { CountedShareLog, resolveCountedSharesPath } from "../journal/counted-shares.ts";
import { assertJournalSigner } from "../journal/signing/signer.ts";
import { type BureauKey, loadBureauKey } from "../journal/signing-key.ts";
import { diskFileLayer } from "../platform/files.ts";
import { FileUnusable, JournalBroken, JournalDamaged, OwnershipLost } from "../journal/faults.ts";
import { Fence } from "../journal/ownership/fence.ts";
import { parseSegmentNames } from "../journal/format.ts";
import { LedgerCore } from "../ledger/core.ts";
import {
  HighWaterMark,
  readKnownDurablePosition,
  MARK_INTERVAL_MS,
} from "../ledger/snapshot/high-water.ts";
import { MessageRulesUnsupported } from "../ledger/ordered/apply.ts";
import { serveLedger } from "../ledger/loop.ts";
import { LedgerMetrics } from "../ledger/metrics.ts";
import type { FromLedger, LedgerThreadData } from "../ledger/messages.ts";
import { SnapshotRefused, startFromSnapshot } from "../ledger/snapshot/files.ts";
import { createCoreRotationJournal } from "../ledger/signing/keyed-journal.ts";
import { rotateBureauKey } from "../journal/signing/rotation.ts";
import { formatSnapshotName, readOrDeriveTableSeed } from "../ledger/snapshot/format.ts";
import {
  SNAPSHOT_PACE,
  SnapshotScheduler,
  type SnapshotSchedulerOptions,
} from "../ledger/snapshot/scheduler.ts";

/**
 * `engineSettings` of startLedger. The seed keys the identifier hash; the bureau key's by default.
 */
export interface EngineSettings {
  config?: ScoringConfig;
  seed?: bigint;
}

interface LedgerWorkerData extends LedgerThreadData {
  engineMemory: WebAssembly.Memory;
  engineSettings: EngineSettings | undefined;
  storePort: MessagePort | undefined;
}

/** Failures whose message tells an operator what to do. */
const SENTENCE_ERRORS = [OwnershipLost, FileUnusable, MessageRulesUnsupported];

type LedgerMessageSender = (message: FromLedger) => void;

function runLedgerThread(port: MessagePort, data: LedgerWorkerData): void {
  const send: LedgerMessageSender = (message) => port.postMessage(message);
  const fail = (error: unknown) => {
    const exitCode =
      error instanceof JournalDamaged || error instanceof JournalBroken ? error.exitCode : 70;
    const damage = error instanceof JournalDamaged ? error.damage : undefined;
    const file = error instanceof FileUnusable ? error.file : undefined;
    const isSentence = SENTENCE_ERRORS.some((kind) => error instanceof kind);
    const why = isSentence ? (error as Error).message : undefined;
    send({ kind: "failed", exitCode, detail: String(error), damage, file, why });
    end();
  };
  let snapshots: SnapshotScheduler | undefined;
  let closeMark = () => {};
  let closeShares = () => {};
  const end = () => {
    snapshots?.close();
    closeMark();
    closeMark = () => {};
    closeShares();
    closeShares = () => {};
    data.storePort?.close();
    port.close();
  };
  try {
    const startedAt = performance.now();
    const opened = openTableAndJournal(data, send);
    const { core, taker, ready, notes, overflow, shares, ...table } = opened;
    snapshots = taker;
    closeShares = () => shares?.close();
    send({ ...ready, durationMs: performance.now() - startedAt });
    const log = (event: string, detail: string) => send({ kind: "note", event, detail });
    for (const note of notes) log("snapshot_ignored", note);
    if (overflow > 0) log("agent_table_overflow", describeTableOverflow(overflow));
    const { now } = openThreadClock();
    const mark = new HighWaterMark(diskFileLayer, data.root, log);
    closeMark = advanceOnTimer(mark, core, now);
    const synced = (lsn: number, nowMs: number) => mark.advance(lsn, nowMs);
    const betweenBatches = (nowMs: number) => taker.runIfDue(nowMs);
    const { storePort } = data;
    serveLedger({
      port,
      core,
      storePort,
      ...table,
      stream: data.stream,
      isAnnouncing: data.announcedKinds !== undefined,
      beforeAnnounce: () => shares?.flush(),
      synced,
      betweenBatches,
      fail,
      closed: end,
    });
    taker.runIfDue(data.nowMs);
    const { journal, scrubEveryMs: everyMs } = data;
    startScrubbing({ journal, snapshotLsn: ready.snapshotLsn, everyMs, send });
  } catch (error) {
    fail(error);
  }
}

/** Returns what ends it. */
function advanceOnTimer(mark: HighWaterMark, core: LedgerCore, now: () => number): () => void {
  // Under load the thread never comes back to its timers; at rest no batch comes.
  const timer = setInterval(() => mark.advance(core.lsn, now()), MARK_INTERVAL_MS).unref();
  return () => {
    clearInterval(timer);
    mark.close(core.lsn);
  };
}

function describeTableOverflow(overflow: number): string {
  return `${overflow} records of the journal found no room in the agent table and do not count: raise TRUSTRANK_TABLE_MB and start again`;
}

const SHARES_MISSING = "the file of shares that the caps of incidents left is missing";
const OTHER_TABLE_BOUND = "its table was made under another bound, and something was left out";

/** Opens table and journal, from the newest usable snapshot on. */
function openTableAndJournal(data: LedgerWorkerData, send: LedgerMessageSender) {
  const key = loadOrCreateBureauKey(data);
  const figures = new LedgerMetrics(data.figures);
  const config = data.engineSettings?.config ?? loadDefaultConfig();
  const seed = data.engineSettings?.seed ?? readOrDeriveTableSeed(data.root, key);
  const image = openTableImage(data.engineMemory);
  const tableBytesMax = data.tableBytesMax ?? convertMebibytesToTableBytes(TABLE_MIB_MAX);
  const engineDigest = computeEngineDigest(config);
  const identity = { layoutVersion: image.layoutVersion, engineDigest, seed };
  const notes: string[] = [];
  const ignored = (why: string) => notes.push(why);
  const source = { files: diskFileLayer, directory: data.snapshots, identity, image, ignored };
  const known = readKnownDurablePosition(diskFileLayer, data.root, data.snapshots);
  // An empty table's image is what every image has beside the heap.
  const imageBytesMax = image.countBytes() + tableBytesMax;
  const table = new LiveTable(data.engineMemory, config, seed, tableBytesMax);
  let shares: CountedShareLog | undefined;
  const { core, start } = startFromSnapshot({ ...source, imageBytesMax }, (snapshot) => {
    if (!table.open(snapshot !== undefined)) {
      throw new SnapshotRefused(OTHER_TABLE_BOUND);
    }
    shares?.close();
    const log = openCountedShares(data, snapshot?.lsn);
    shares = log;
    const opened = new LedgerCore({
      files: diskFileLayer,
      directory: data.journal,
      key,
      // Nodes of a cluster write the same bytes.
      epoch: data.stream?.generation ?? data.epoch,
      ordered: data.stream,
      fence: new Fence(diskFileLayer, data.root, data),
      fold: (outcome, lsn) => log.add(lsn, table.fold(outcome)),
      foldAssessment: (assessment) => table.foldAssessment(assessment),
      applyStandings: (standings) => table.applyStandings(standings),
      markKeyRevoked: (agent, isRevoked) => table.markKeyRevoked(agent, isRevoked),
      freshTable: () =>
        table.createUnpublishedTable((engineMemory) => send({ kind: "table", engineMemory })),
      nowMs: data.nowMs,
      reserveBytes: data.reserveBytes,
      room: table,
      newcomersPerHour: data.newcomersPerHour,
      figures,
      announcedKinds: data.announcedKinds,
      start: snapshot,
      known,
    });
    assertSameOrderedLog(data, opened);
    return { core: opened, start: snapshot };
  });
  const written = trackSnapshotTimes(figures, data.snapshots, start?.lsn);
  const saved = { identity, outcomesSaved: start?.outcomes ?? 0, written };
  const taker = createSnapshotTaker(data, { core, table, send, shares }, saved);
  const engineMemory = table.startAnnouncing();
  const ready = { ...buildReadyMessage(core), engineMemory, snapshotLsn: start?.lsn };
  const install = (wanted: unknown) => table.installConfig(wanted as ScoringConfig);
  const rekey = createKeyRotation(data, core, key, seed);
  const engine = computeEngineName(identity);
  const tableHash = (round: number) => ({ engine, hash: computeTableHash(table.memory, round) });
  const { overflow } = table;
  return { core, taker, ready, notes, overflow, shares, install, rekey, tableHash };
}

/** @throws SnapshotRefused when shares of records up to `snapshotLsn` are missing. */
function openCountedShares(
  { journal }: LedgerWorkerData,
  snapshotLsn: number | undefined,
): CountedShareLog {
  const path = resolveCountedSharesPath(journal);
  if (snapshotLsn !== undefined && !existsSync(path)) throw new SnapshotRefused(SHARES_MISSING);
  return new CountedShareLog(path, snapshotLsn ?? 0);
}

/** Rotates the key that the journal is signed with, from `first` on. */
function createKeyRotation(
  data: LedgerWorkerData,
  core: LedgerCore,
  first: BureauKey,
  tableSeed: bigint,
): (nowMs: number, actor: string) => void {
  let former = first;
  return (nowMs, actor) => {
    if (data.stream !== undefined) throw new Error("the nodes of a cluster share one signing key");
    const journal = createCoreRotationJournal(core);
    const place = { files: diskFileLayer, path: data.bureauKey, journal };
    former = rotateBureauKey({ ...place, former, actor, nowMs, tableSeed });
  };
}

/**
 * A journal goes on as it began: alone, or along one log.
 * @throws FileUnusable when it began otherwise.
 */
function assertSameOrderedLog(
  { journal: path, stream }: LedgerWorkerData,
  { lsn, progress }: LedgerCore,
): void {
  const { mark } = progress;
  if (lsn === 0 || mark?.generation === stream?.generation) return;
  if (stream === undefined) {
    const advice = "start it with --cluster, as before";
    throw new FileUnusable({ path, reason: "a cluster's log has fed it", advice });
  }
  const reason =
    mark === undefined
      ? "it was written without a cluster"
      : `it follows generation ${mark.generation} of the log, not ${stream.generation}`;
  const advice =
    "empty the data directory but for `bureau.key` and see `trustrank cluster bootstrap`, or `trustrank cluster restore`";
  throw new FileUnusable({ path, reason, advice });
}

/** What the ledger's owner is told of the journal. */
function buildReadyMessage(core: LedgerCore) {
  const { outcomes, reviews, conditions } = core.buildSnapshotContents();
  return {
    kind: "ready" as const,
    lsn: core.lsn,
    outcomes,
    truncatedBytes: core.truncatedBytes,
    keyEvents: [...core.keyEvents],
    policies: [...core.policies],
    access: [...core.access],
    weights: [...core.weights],
    reviews: [...reviews],
    conditions: [...conditions],
    sources: core.sources,
    rememberedSinceMs: core.rememberedSinceMs,
    lastRecordMs: core.lastRecordMs,
  };
}

/** Tells the time of the snapshot that this start came from, and of each that is written. */
function trackSnapshotTimes(figures: LedgerMetrics, directory: string, lsn: number | undefined) {
  if (lsn !== undefined) {
    figures.setSnapshotTime(statSync(`${directory}/${formatSnapshotName(lsn)}`).mtimeMs);
  }
  return () => figures.setSnapshotTime(openThreadClock().now());
}

interface SnapshotSource {
  readonly core: LedgerCore;
  readonly table: LiveTable;
  readonly send: LedgerMessageSender;
  readonly shares: CountedShareLog | undefined;
}

function createSnapshotTaker(
  data: LedgerWorkerData,
  { core, table, send, shares }: SnapshotSource,
  from: Pick<SnapshotSchedulerOptions, "identity" | "outcomesSaved" | "written">,
): SnapshotScheduler {
  return new SnapshotScheduler({
    point: () => {
      shares?.sync();
      return core.buildSnapshotContents();
    },
    isRefolding: () => core.isRefolding,
    guard: core.guard,
    image: () => openTableImage(table.memory),
    ...from,
    pace: data.snapshotPace ?? SNAPSHOT_PACE,
    nowMs: data.nowMs,
    startWriter: (died) => startSnapshotWriter(data, died),
    log: (event, detail) => send({ kind: "note", event, detail }),
  });
}

function startSnapshotWriter(data: LedgerWorkerData, died: (detail: string) => void): MessagePort {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL("./snapshot.ts", import.meta.url), {
    name: "snapshot",
    workerData: { port: port2, directory: data.snapshots, spareBytes: data.reserveBytes },
    transferList: [port2],
  });
  worker.once("error", (error) => died(String(error)));
  return port1;
}

/**
 * The first start makes the key; later ones must find it (`doctor --repair` makes another).
 * @throws FileUnusable when it is not the key that the journal is signed with.
 */
function loadOrCreateBureauKey(data: LedgerWorkerData): BureauKey {
  diskFileLayer.makeDirectory(data.journal);
  const [first] = parseSegmentNames(diskFileLayer.list(data.journal));
  try {
    const key = loadBureauKey(data.bureauKey, first === undefined);
    assertJournalSigner(diskFileLayer, data, key);
    return key;
  } catch (error) {
    if (first === undefined || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const reason = "the bureau key that signed it is missing";
    throw new JournalDamaged({ segment: first.name, offset: 0, afterLsn: 0, reason });
  }
}

if (parentPort !== null) runLedgerThread(parentPort, workerData as LedgerWorkerData);
