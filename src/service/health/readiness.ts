// Health of the service for /readyz and its log: the ledger, the store, and whether anyone
// answers for the outcomes that come in.
import { HOUR_MS } from "../../contract/units.ts";
import type { TableUse } from "../../engine/table-use.ts";
import { formatFillWarning, WARNING_SHARE } from "../../ledger/admission/admission.ts";
import { DAMAGE_ADVICE, describeDamage } from "../../ledger/damage-watch.ts";
import { QUEUE_RECORDS_MAX, type OpenLedger } from "../../ledger/client.ts";
import type { KeyRegistry } from "../../bureau/reporters/key-registry.ts";
import type { NamespaceOwners } from "../../contract/namespaces.ts";
import { KEY_FILE_MISSING_WARNING } from "../../http/access/key-file.ts";
import {
  buildUnvouchedOwnersWarning,
  buildVouchingWarning,
} from "../../http/access/vouching-warning.ts";
import type { HealthProbe } from "../../http/services.ts";
import type { Keyring } from "../../http/access/keyring.ts";
import type { OpenStore } from "../../store/client.ts";
import type { ArchiveStatus } from "../../threads/archive/scheduler.ts";
import type { StoreState } from "../../store/messages.ts";
import type { Log } from "../../platform/log.ts";
import type { SteadyClockWriter } from "../../platform/steady-clock.ts";
import type { OpenCluster } from "../cluster/cluster.ts";
import { areSeedsInUse, type ServeConfig } from "../settings/config.ts";
import { checkClusterLag, describeStream, IgnoredMessageHistory } from "./cluster-health.ts";
import type { SignedCounter } from "./signed-counter.ts";

interface ReadinessReport {
  ready: boolean;
  reasons: string[];
  /** States that need an operator and do not stop the service. */
  warnings: string[];
}

/** A store that is behind for this long is worth a word. */
const BEHIND_WARNING_MS = 30_000;
/** Time for which a reopening stays in the warnings. */
const REOPENED_WARNING_MS = HOUR_MS;

/** What an operator should know of the store; scores and outcomes wait for none of it. */
export function listStoreWarnings(store: StoreState, nowMs: number): string[] {
  const { failure, appliedLsn, durableLsn, restoringCount, behindSinceMs, reopenedAtMs } = store;
  const warnings: string[] = [];
  if (failure !== "") warnings.push(`store does not follow the journal: ${failure}`);
  const places = `at position ${appliedLsn} of ${durableLsn}`;
  if (store.isBuilding) warnings.push(`store is being rebuilt: ${places}`);
  else if (behindSinceMs > 0 && nowMs - behindSinceMs >= BEHIND_WARNING_MS) {
    const seconds = Math.round((nowMs - behindSinceMs) / 1000);
    warnings.push(`store is behind for ${seconds} s: ${places}`);
  }
  if (restoringCount > 0) {
    warnings.push(`decision log is being restored: ${restoringCount} files are left`);
  }
  if (reopenedAtMs > 0 && nowMs - reopenedAtMs < REOPENED_WARNING_MS) {
    const at = new Date(reopenedAtMs).toISOString();
    warnings.push(`store was opened again after an error at ${at}, the log says which`);
  }
  return warnings;
}

/**
 * Whether outcomes can be taken now, and if not, why. Damage in old segments is a warning: scores
 * and outcomes need none of them, only the next replay does. So is a store that does not follow:
 * SQL and the decision log lag, and come out whole once it does. `more` are further warnings, those
 * of `storeWarnings` among them; empty ones are none.
 */
export function checkReadiness(ledger: OpenLedger, more: readonly string[] = []): ReadinessReport {
  const reasons: string[] = [];
  if (ledger.disk.isLow) reasons.push("disk nearly full");
  else if (!ledger.isHealthy()) reasons.push("journal not writable");
  if (ledger.pendingCount >= QUEUE_RECORDS_MAX) reasons.push("too many outcomes waiting");
  const warnings = ledger.journal.damages.map(
    (damage) => `journal damaged: ${describeDamage(damage)}: ${DAMAGE_ADVICE}`,
  );
  warnings.push(...more.filter((warning) => warning !== ""));
  return { ready: reasons.length === 0, reasons, warnings };
}

/** A table that fills up is no reason: outcomes of known agents are still taken. */
export function listTableWarnings({ share, overflow }: TableUse): string[] {
  const warnings = share < WARNING_SHARE ? [] : [formatFillWarning(share)];
  if (overflow > 0) warnings.push(`${overflow} records found no room in the agent table`);
  return warnings;
}

/** One line while namespaces are owned by whoever came first, before ownership was granted; or none. */
export function buildInheritedNamespacesWarning(owners: NamespaceOwners): string {
  const count = owners.list().filter(({ state }) => state === "inherited").length;
  if (count === 0) return "";
  const advice = "`trustrank namespaces list` shows them, `grant` or `transfer` settles each";
  const belong = count === 1 ? "namespace belongs" : "namespaces belong";
  return `${count} ${belong} to the tenant that came first: ${advice}`;
}

/** Why the system's clock is not followed, or nothing is deleted by it; none while all is well. */
export function listClockWarnings(
  clock: Pick<SteadyClockWriter, "leadMs" | "isConfirmed">,
): string[] {
  const leadSec = Math.round(clock.leadMs / 1000);
  if (leadSec !== 0) {
    const way = leadSec > 0 ? "forward" : "back";
    return [`the system's clock jumped ${way} by ${Math.abs(leadSec)} s: not followed for an hour`];
  }
  return clock.isConfirmed ? [] : ["the clock is in doubt: nothing is deleted by age for an hour"];
}

/** What readiness looks at. */
interface ReadinessSources {
  readonly ledger: OpenLedger;
  readonly registry: Pick<KeyRegistry, "owners">;
  readonly engine: { readTableUse(): TableUse; readonly areStandingsInForce: boolean };
}

interface HealthProbeSources {
  /** Whether the service started without `keys.json` on a journal that is not empty. */
  readonly isKeyFileLost: boolean;
  readonly keyring: Keyring;
  readonly evidence: ReadinessSources;
  readonly store: OpenStore;
  readonly clock: SteadyClockWriter;
  readonly archive: { status(): ArchiveStatus | undefined };
  readonly signedCounter: Pick<SignedCounter, "counts">;
  readonly credibility: { readonly credibility: { readonly warning: string } };
  /** Undefined where the process is the whole bureau. */
  readonly cluster: Pick<OpenCluster, "figures" | "node" | "link" | "warnings"> | undefined;
}

/** An archive that does not follow, or that held another history; the service needs none of it. */
export function listArchiveWarnings(archive: ArchiveStatus | undefined): string[] {
  if (archive === undefined) return [];
  const { ageMs, everyMs, why, parted } = archive;
  const warnings: string[] = [];
  const age = `it is ${Math.round(ageMs / 1000)} s old`;
  if (why !== "") warnings.push(`archive does not follow: ${why}; ${age}`);
  else if (ageMs > BEHIND_WARNING_MS + 2 * everyMs) warnings.push(`archive is behind: ${age}`);
  if (parted !== undefined) {
    warnings.push(`archive held another history than the journal: kept as its state \`${parted}\``);
  }
  return warnings;
}

/** Readiness as `/readyz` asks for it; the log hears at once when nothing is vouched for. */
export function createHealthProbe(
  config: ServeConfig,
  log: Log,
  parts: HealthProbeSources,
): HealthProbe {
  const { keyring, store, clock, archive } = parts;
  const { ledger, registry, engine } = parts.evidence;
  const inherited = () => buildInheritedNamespacesWarning(registry.owners);
  if (inherited() !== "") log.warn("namespaces_inherited", { detail: inherited() });
  const hasSeeds = areSeedsInUse(config);
  const unvouched = () => {
    const hasVouchedOwner = registry.owners.hasVouched();
    const vouching = { keys: keyring.listStoredKeys(), hasVouchedOwner, hasSeeds };
    return buildVouchingWarning(vouching, clock.now());
  };
  const lostKeys = parts.isKeyFileLost ? KEY_FILE_MISSING_WARNING : "";
  if (lostKeys !== "") log.warn("key_file_missing", { detail: lostKeys });
  const detail = unvouched();
  if (detail !== "") log.warn("nothing_vouched_for", { detail });
  const unvouchedOwners = () => {
    if (engine.areStandingsInForce) return "";
    const owners = registry.owners.listUnvouched();
    return buildUnvouchedOwnersWarning(owners, parts.signedCounter.counts);
  };
  const ignored = new IgnoredMessageHistory(store, parts.cluster?.figures);
  const warnings = () => [
    ...listStoreWarnings(store.status(), clock.now()),
    lostKeys,
    unvouched(),
    inherited(),
    unvouchedOwners(),
    parts.credibility.credibility.warning,
    ...listTableWarnings(engine.readTableUse()),
    ...listClockWarnings(clock),
    ...listArchiveWarnings(archive.status()),
  ];
  const isReady = () => {
    const along = checkClusterLag(parts.cluster?.figures, clock.now());
    const stream = describeStream(parts.cluster, clock.now());
    const health = checkReadiness(ledger, [
      ...warnings(),
      ...along.warnings,
      ...(parts.cluster?.warnings() ?? []),
      ...ignored.listWarnings(clock.now()),
    ]);
    const reasons = [...health.reasons, ...along.reasons];
    return { ...health, ready: reasons.length === 0, reasons, stream };
  };
  return { isReady };
}
