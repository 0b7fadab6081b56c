// Core of a process behind one data directory: the ledger that owns the table, the reader of this
// thread, the vault, the bureau. Commands that need no server open just this.
import { randomFillSync } from "node:crypto";
import type { MessagePort } from "node:worker_threads";
import type { Bureau } from "../bureau/bureau.ts";
import type { ActivitySource } from "../contract/activity/source.ts";
import { ConditionBook, type StoredCondition } from "../contract/conditions/book.ts";
import { PolicyBook } from "../policy/policy-book.ts";
import { JournaledNotes } from "../bureau/notes.ts";
import { openBureau } from "../bureau/open.ts";
import { ReviewDecisionCache } from "../bureau/reviews/decision-cache.ts";
import { ReviewQueue } from "../bureau/reviews/queue.ts";
import { ReviewBook, type StoredReview } from "../contract/reviews/book.ts";
import type { ReviewUpdate } from "../contract/reviews/events.ts";
import type { DecisionLog } from "../contract/decisions.ts";
import { foldKeyRegistry, type KeyRegistry } from "../bureau/reporters/key-registry.ts";
import { createEngineMemory } from "../engine/memory.ts";
import { openEngineReader } from "../engine/reader.ts";
import type { TableReader } from "../engine/reader.ts";
import { openEvidenceVault } from "./vault.ts";
import type { OpenVault } from "./vault.ts";
import { resolveDataPaths } from "../journal/data-directory.ts";
import { AssessmentQueue } from "../ledger/assessment-queue.ts";
import { startLedger } from "../ledger/client.ts";
import type { LedgerOptions } from "../ledger/start.ts";
import type { OpenLedger } from "../ledger/client.ts";
import type { NewcomersPerHour } from "../ledger/admission/newcomer-limits.ts";
import { computeSnapshotPace } from "../ledger/snapshot/scheduler.ts";
import type { StreamThreadLink } from "../ledger/messages.ts";
import type { RemoteEvent } from "../ledger/ordered/apply.ts";
import type { Log } from "../platform/log.ts";
import { UuidV7Generator } from "../platform/uuid.ts";

/** The HTTP thread's scratch in the shared memory; slot 0 is the writer's. */
const HTTP_READER_SLOT = 1;

/** Events that an operator has to act on. */
const ALARMS: ReadonlySet<string> = new Set([
  "journal_damaged",
  "journal_audit_failed",
  "agent_table_overflow",
]);
/** And one that lets them act in time. */
const WARNINGS: ReadonlySet<string> = new Set(["agent_table_filling"]);

/** Core of a process: all that an import needs. */
export interface ServiceCore {
  readonly engineMemory: WebAssembly.Memory;
  readonly ledger: OpenLedger;
  readonly engine: TableReader;
  readonly bureau: Bureau;
  /** What this thread's and the pool's verdicts say of agents. */
  readonly assessments: AssessmentQueue;
  /** The policies that the bureau judges by. */
  readonly policies: PolicyBook;
  /** Conditions and stops by which it judges, past ones included. */
  readonly conditions: ConditionBook;
  /** Reporters' keys and owners of namespaces, by which this thread's reports are judged. */
  readonly registry: KeyRegistry;
  readonly sources: OpenVault;
  readonly notes: JournaledNotes;
  readonly reviews: ReviewQueue;
  /** This thread's calls that wait for a person. */
  readonly reviewDesk: ReviewDecisionCache;
  /** Closes the vault and the ledger, once what waits for it is durable. */
  close(): Promise<void>;
}

export interface ServiceCoreOptions {
  readonly dataDir: string;
  /** Epoch ms; the system's when left out. */
  readonly clock?: () => number;
  readonly isReservedEnabled: boolean;
  /** Called when the journal's disk can no longer be trusted: end the process with this code. */
  readonly onFatal: (exitCode: number, why?: string) => void;
  readonly storePort?: MessagePort;
  /** The ordered log of a cluster; left out: this process is the whole bureau. */
  readonly stream?: StreamThreadLink | undefined;
  /** Called with what other nodes of the cluster have put on record. */
  readonly onRemote?: (events: readonly RemoteEvent[]) => void;
  /** Kinds of records to announce, and what receives them. */
  readonly announcedKinds?: readonly number[];
  readonly onAnnounced?: LedgerOptions["onAnnounced"];
  readonly onConfigInstalled?: LedgerOptions["onConfigInstalled"];
  readonly decisions?: DecisionLog;
  /** Counts of calls and stakes held; left out: none. */
  readonly activity?: ActivitySource;
  /** Outcomes between two snapshots of the agent table; the ledger's default when left out. */
  readonly snapshotOutcomes?: number;
  /**
   * Size in bytes of the ballast on the journal's disk, and of its watermark; none when left out.
   */
  readonly reserveBytes?: number;
  /** Bound of the agent table's heap, in bytes; the address space's when left out. */
  readonly tableBytesMax?: number;
  /** New agents and pairs by key and hour; the ledger's default when left out. */
  readonly newcomersPerHour?: NewcomersPerHour;
  /** Interval in ms between two scrubs of all sealed segments; none when left out. */
  readonly scrubEveryMs?: number | undefined;
  /** Sources that one tenant may register; the vault's default when left out. */
  readonly sourcesPerTenant?: number | undefined;
  /** Receives the events of snapshots taken, failed and ignored. */
  readonly log?: Log;
  /** Called when a revocation has made another table; the core's own reader reads it by then. */
  readonly onTable?: (memory: WebAssembly.Memory) => void;
  /** Called with news of reviews for other deciding threads, before it is answered. */
  readonly onReviewNews?: (news: ReviewUpdate) => void;
}

/**
 * Replays the journal into a new table and opens the bureau over it. Nothing is left open when it
 * throws.
 * @throws DataDirectoryInUse, JournalDamaged or JournalBroken as `startLedger`.
 */
export async function openServiceCore(options: ServiceCoreOptions): Promise<ServiceCore> {
  let engine: TableReader | undefined;
  const onTable = (memory: WebAssembly.Memory) => {
    engine?.rebind(memory);
    options.onTable?.(memory);
  };
  const clock = options.clock ?? Date.now;
  const ledger = await startLedger({
    dataDir: options.dataDir,
    engineMemory: createEngineMemory(),
    onTable: (memory) => onTable(memory),
    onFatal: options.onFatal,
    clock,
    reserveBytes: options.reserveBytes ?? 0,
    tableBytesMax: options.tableBytesMax,
    newcomersPerHour: options.newcomersPerHour,
    scrubEveryMs: options.scrubEveryMs,
    storePort: options.storePort,
    stream: options.stream,
    onRemote: options.onRemote,
    announcedKinds: options.announcedKinds,
    onAnnounced: options.onAnnounced,
    onConfigInstalled: options.onConfigInstalled,
    snapshotPace:
      options.snapshotOutcomes === undefined
        ? undefined
        : computeSnapshotPace(options.snapshotOutcomes),
    log: (event, detail) => {
      const quiet = WARNINGS.has(event) ? "warn" : "info";
      const level = ALARMS.has(event) ? "error" : quiet;
      options.log?.[level](event, { detail });
    },
  });
  try {
    engine = openEngineReader(ledger.engineMemory, HTTP_READER_SLOT);
    return assembleCore(options, ledger, engine);
  } catch (error) {
    // Its thread would keep the process alive.
    await ledger.close();
    throw error;
  }
}

function assembleCore(
  options: ServiceCoreOptions,
  ledger: OpenLedger,
  engine: TableReader,
): ServiceCore {
  const clock = options.clock ?? Date.now;
  const sources = openEvidenceVault(ledger, resolveDataPaths(options.dataDir).journal, {
    ...options,
    clock,
  });
  const { engineMemory } = ledger;
  const policies = new PolicyBook(ledger.policies);
  const conditions = openConditionBook(ledger);
  const registry = foldKeyRegistry(ledger.keyEvents);
  const assessments = new AssessmentQueue(ledger);
  const { reviews, reviewDesk } = openReviews(options, ledger, clock);
  const bureau = openBureau({
    engine,
    ledger,
    events: ledger,
    reviews: reviewDesk,
    provenance: sources.assessor,
    policies,
    conditions,
    assessments,
    registry,
    clock,
    environment: {
      delay: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      outcomeIds: new UuidV7Generator(randomFillSync),
      isReservedEnabled: options.isReservedEnabled,
    },
    ...(options.decisions === undefined ? {} : { decisions: options.decisions }),
    ...(options.activity === undefined ? {} : { activity: options.activity }),
  });
  const close = async () => {
    try {
      await sources.close();
      await assessments.close();
      reviewDesk.flush(clock());
      await reviews.flush();
    } finally {
      await ledger.close();
    }
  };
  const notes = new JournaledNotes(ledger);
  const parts = { bureau, assessments, policies, conditions, registry, sources, notes };
  return { engineMemory, ledger, engine, ...parts, reviews, reviewDesk, close };
}

function openConditionBook({ conditions }: OpenLedger): ConditionBook {
  const stored = conditions.map((text) => JSON.parse(Buffer.from(text).toString()));
  return new ConditionBook(stored as StoredCondition[], true);
}

/** What an HTTP or scoring thread starts with. */
export function listStandingConditions({
  conditions,
}: Pick<ServiceCore, "conditions">): StoredCondition[] {
  return [...conditions.listStored()].filter(({ ended_ms: endedMs }) => endedMs === null);
}

/** The queue of reviews as the journal has it, and the desk of this thread. */
function openReviews(options: ServiceCoreOptions, ledger: OpenLedger, clock: () => number) {
  const stored = ledger.reviews.map((text) => JSON.parse(Buffer.from(text).toString()));
  const book = new ReviewBook(stored as StoredReview[]);
  const reviewDesk = new ReviewDecisionCache(
    (asked) => reviews.addCalls(asked),
    book.listRulings(),
  );
  const reviews = new ReviewQueue({
    log: ledger,
    book,
    onUpdate: (news) => {
      reviewDesk.apply(news);
      options.onReviewNews?.(news);
    },
    clock,
  });
  return { reviews, reviewDesk };
}
