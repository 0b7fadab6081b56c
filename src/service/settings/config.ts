// The settings of a process, read once: flags win over the environment, the environment over the
// defaults (src/service/settings/settings.ts). With src/service/start.ts and the commands this is the only
// reader of the environment.
import { parseConsoleConfig } from "./console-config.ts";
import type { ConsoleOptions } from "../../http/console/console.ts";
import { isAbsolute, resolve } from "node:path";
import type { ListenAddress } from "../../http/metrics/listener.ts";
import { CALLER_BY_PRINCIPAL, type CallerSource } from "../../http/grpc/caller.ts";
import type { HttpAdapterName } from "../../http/server/port.ts";
import type { RateLimits } from "../../http/access/rate-limits.ts";
import { convertMebibytesToTableBytes } from "../../engine/table-use.ts";
import type { NewcomersPerHour } from "../../ledger/admission/newcomer-limits.ts";
import type { LogFormat, LogLevel } from "../../platform/log.ts";
import type { SeedRules } from "../../kaizen/credibility/seeds.ts";
import type { ScoringMode } from "../../threads/scoring/modes.ts";
import { type ArchiveConfig, parseArchiveConfig } from "./archive-settings.ts";
import { readClusterConfig } from "./cluster-config.ts";
import type { ClusterConfig } from "./cluster-settings.ts";
import { type ListenConfig, type ListenFlags, parseListenConfig } from "./listen-config.ts";
import { type WatchConfig, parseWatchConfig } from "./watch-config.ts";
import { type Environment, MEBIBYTE, readSetting } from "./settings.ts";

const MS_PER_SECOND = 1000;
const MS_PER_HOUR = 3_600_000;

/** Settings of the journal and of the files derived from it. */
export interface JournalSettings {
  /** Outcomes between two snapshots of the agent table. */
  readonly snapshotOutcomes: number;
  /** Size in bytes of the ballast on the journal's disk, and of its watermark; 0 for neither. */
  readonly reserveBytes: number;
  /** Bound of the agent table's heap, in bytes. */
  readonly tableBytesMax: number;
  /** New agents and pairs by key and hour. */
  readonly newcomersPerHour: NewcomersPerHour;
  /** Interval in ms between two scrubs of all sealed segments; undefined: at starts only. */
  readonly scrubEveryMs: number | undefined;
}

/** Settings of the log. */
export interface LogConfig {
  readonly level: LogLevel;
  /** Undefined: as fits where stderr goes. */
  readonly format: LogFormat | undefined;
}

/** Settings of `serve`. */
export interface ServeConfig extends ListenConfig {
  readonly log: LogConfig;
  readonly watch: WatchConfig;
  readonly console: ConsoleOptions;
  readonly dataDir: string;
  /** Longest wait in ms for another owner of the data directory to end. */
  readonly ownerWaitMs: number;
  /** Load the sample history into an empty data directory. */
  readonly isSampleWanted: boolean;
  /** An operator's own admin key; installed hashed, never printed. */
  readonly adminKey: string | undefined;
  readonly isReservedEnabled: boolean;
  readonly scoring: ScoringMode;
  /** Name of this deployment in signatures; made and kept by the service when left out. */
  readonly serviceId: string | undefined;
  /** Unsigned outcomes are refused. */
  readonly isSignatureRequired: boolean;
  /** Kaizen runs weekly by schedule; by command it always can. */
  readonly isKaizenScheduled: boolean;
  /** Rows of evidence of a run of kaizen at most. */
  readonly kaizenRows: number;
  /** Whether reporters are weighed by credibility; undefined: as in the shipped config. */
  readonly isCredibilityWanted: boolean | undefined;
  /** Reporters that the operator vouches for; undefined: none, and no standing is computed. */
  readonly seeds: SeedRules | undefined;
  readonly journal: JournalSettings;
  /** Where all that a backup has is shipped to while the service runs; undefined: nowhere. */
  readonly archive: ArchiveConfig | undefined;
  /** This node's cluster; undefined: this process is the whole bureau. */
  readonly cluster: ClusterConfig | undefined;
  /** Private networks in which webhook endpoints may lie; undefined: none. */
  readonly webhookAllow: string | undefined;
  /** Days that rows of the decision log are kept; daily counts stay. */
  readonly decisionsKeptDays: number;
  /** Days that rows of outcomes are kept in the store; daily counts stay, the journal does too. */
  readonly outcomesKeptDays: number;
  /** Days that rows of provenance told afterwards are kept in the store; the journal stays. */
  readonly provenanceKeptDays: number;
  /** MiB that the store's database may use. */
  readonly storeMemoryMegabytes: number;
  /** IANA name of the zone of local times in SQL. */
  readonly timeZone: string;
  /** Limit in MiB on the process that runs callers' SQL. */
  readonly queryMemoryMegabytes: number;
  /** Answers that let through, logged per second; denials always are. */
  readonly decisionsPerSecond: number;
  /** Threads that serve HTTP on the one port; 1 is the main thread alone. */
  readonly httpThreads: number;
  readonly httpAdapter: HttpAdapterName;
  /** A listener for `/metrics` alone, without a key; none when undefined. */
  readonly metricsListen: ListenAddress | undefined;
  /** Open connections over all threads; undefined: as many as descriptors allow. */
  readonly connectionsMax: number | undefined;
  /** Envoy's external authorization over gRPC; undefined: off. */
  readonly grpc: { readonly port: number; readonly source: CallerSource } | undefined;
  /** Sources that one tenant may register. */
  readonly sourcesPerTenant: number;
  /** Per key; a class that is left out is unlimited. */
  readonly rateLimits: RateLimits;
  /** Milliseconds that a round of a thread's queue may take for long; 0: nobody is turned away. */
  readonly queueMsMax: number;
}

/** Address and key of a running server for a command, as far as they are known. */
export interface ServerAccess {
  readonly url: string | undefined;
  readonly key: string | undefined;
}

/** Relative directories are resolved against the command's working directory. */
export function parseDataDirectory(flag: string | undefined, environment: Environment): string {
  const dataDir = readSetting("dataDir", flag, environment);
  // An empty variable is an unset one.
  return isAbsolute(dataDir) ? dataDir : resolve(environment["INIT_CWD"] || ".", dataDir);
}

/** Longest wait in ms for another owner of the data directory to end. @throws InvalidSetting */
export function parseOwnerWaitMs(flag: string | undefined, environment: Environment): number {
  return readSetting("ownerWait", flag, environment) * MS_PER_SECOND;
}

/** Flags of `serve`; the rest is environment. */
export interface ServeFlags extends ListenFlags {
  dataDir?: string;
  ownerWait?: string;
  archive?: string;
  archiveEvery?: string;
  cluster?: string;
  clusterNode?: string;
  sample: boolean;
  scoring?: string;
  metricsListen?: string;
  grpcPort?: string;
  logLevel?: string;
  logFormat?: string;
  accessLog?: string;
  console?: string;
}

/** @throws InvalidSetting for a setting with an impossible value, a port out of range for one. */
export function parseServeConfig(flags: ServeFlags, environment: Environment): ServeConfig {
  const listen = parseListenConfig(flags, environment);
  return {
    log: parseLogConfig(flags, environment),
    watch: parseWatchConfig(flags, environment),
    console: parseConsoleConfig(flags, listen, environment),
    ...listen,
    dataDir: parseDataDirectory(flags.dataDir, environment),
    ownerWaitMs: parseOwnerWaitMs(flags.ownerWait, environment),
    isSampleWanted: flags.sample && readSetting("sample", undefined, environment),
    adminKey: readSetting("adminKey", undefined, environment),
    serviceId: readSetting("serviceId", undefined, environment),
    isSignatureRequired: readSetting("requireSignature", undefined, environment),
    scoring: readSetting("scoring", flags.scoring, environment),
    isKaizenScheduled: readSetting("kaizen", undefined, environment),
    kaizenRows: parseKaizenRowsMax(environment),
    ...parseCredibilityConfig(environment),
    journal: parseJournalSettings(environment),
    archive: parseArchiveConfig(
      readSetting("archive", flags.archive, environment),
      readSetting("archiveEvery", flags.archiveEvery, environment),
      environment["INIT_CWD"],
    ),
    cluster: readClusterConfig(flags, environment),
    webhookAllow: readSetting("webhookAllow", undefined, environment),
    decisionsKeptDays: readSetting("decisionsKeptDays", undefined, environment),
    outcomesKeptDays: readSetting("outcomesKeptDays", undefined, environment),
    provenanceKeptDays: readSetting("provenanceKeptDays", undefined, environment),
    storeMemoryMegabytes: readSetting("storeMemoryMb", undefined, environment),
    timeZone: parseTimeZone(environment),
    queryMemoryMegabytes: readSetting("queryMemoryMb", undefined, environment),
    httpThreads: readSetting("httpThreads", flags.httpThreads, environment),
    httpAdapter: readSetting("httpAdapter", undefined, environment),
    metricsListen: readSetting("metricsListen", flags.metricsListen, environment),
    connectionsMax: readSetting("connectionsMax", undefined, environment),
    grpc: parseGrpcConfig(flags, environment),
    sourcesPerTenant: readSetting("sourcesPerTenant", undefined, environment),
    rateLimits: {
      score: readSetting("rateScore", undefined, environment),
      outcomes: readSetting("rateOutcomes", undefined, environment),
    },
    queueMsMax: readSetting("queueMsMax", undefined, environment),
    decisionsPerSecond: readSetting("decisionsPerSecond", undefined, environment),
    // Refused in production unless asked for: a test agent must never open a real door.
    isReservedEnabled:
      readSetting("testAgents", undefined, environment) ??
      readSetting("nodeEnv", undefined, environment) !== "production",
  };
}

/** Settings of the log. @throws InvalidSetting */
export function parseLogConfig(
  flags: Pick<ServeFlags, "logLevel" | "logFormat">,
  environment: Environment,
): LogConfig {
  return {
    level: readSetting("logLevel", flags.logLevel, environment),
    format: readSetting("logFormat", flags.logFormat, environment),
  };
}

function parseGrpcConfig(flags: ServeFlags, environment: Environment): ServeConfig["grpc"] {
  const source = readSetting("grpcCaller", undefined, environment) ?? CALLER_BY_PRINCIPAL;
  const port = readSetting("grpcPort", flags.grpcPort, environment);
  return port === undefined ? undefined : { port, source };
}

/** Zone of local times in SQL. @throws InvalidSetting */
export function parseTimeZone(environment: Environment): string {
  return readSetting("timeZone", undefined, environment);
}

function parseJournalSettings(environment: Environment): JournalSettings {
  const scrubHours = readSetting("scrubHours", undefined, environment);
  return {
    snapshotOutcomes: readSetting("snapshotOutcomes", undefined, environment),
    reserveBytes: parseDiskReserveBytes(environment),
    tableBytesMax: parseTableBytesMax(environment),
    newcomersPerHour: {
      agents: readSetting("newAgentsPerHour", undefined, environment) || Infinity,
      pairs: readSetting("newPairsPerHour", undefined, environment) || Infinity,
    },
    scrubEveryMs: scrubHours === 0 ? undefined : scrubHours * MS_PER_HOUR,
  };
}

/** An admin key given to the server is also good for talking to it. */
export function parseServerAccess(
  flags: { url?: string; key?: string },
  environment: Environment,
): ServerAccess {
  return {
    url: readSetting("url", flags.url, environment),
    key: readSetting("key", flags.key, environment),
  };
}

/** Rows of evidence of a run of kaizen at most. @throws InvalidSetting */
export function parseKaizenRowsMax(environment: Environment): number {
  return readSetting("kaizenRows", undefined, environment);
}

/** Seeds, and whether to weigh by them; also for commands that work on the files. */
export function parseCredibilityConfig(
  environment: Environment,
): Pick<ServeConfig, "isCredibilityWanted" | "seeds"> {
  return {
    isCredibilityWanted: readSetting("credibility", undefined, environment),
    seeds: readSetting("seeds", undefined, environment),
  };
}

/** Whether seeds are in use or unsigned outcomes are refused: no key needs to be vouched for. */
export function isTrustConfigured(
  config: Pick<ServeConfig, "isCredibilityWanted" | "seeds" | "isSignatureRequired">,
): boolean {
  const hasSeeds = config.seeds !== undefined && config.isCredibilityWanted !== false;
  return hasSeeds || config.isSignatureRequired;
}

/** The same from the environment. @throws InvalidSetting */
export function isTrustConfiguredIn(environment: Environment): boolean {
  const isSignatureRequired = readSetting("requireSignature", undefined, environment);
  return isTrustConfigured({ ...parseCredibilityConfig(environment), isSignatureRequired });
}

/** Bound of the agent table's heap, in bytes. @throws InvalidSetting */
export function parseTableBytesMax(environment: Environment): number {
  return convertMebibytesToTableBytes(readSetting("tableMb", undefined, environment));
}

/** Bytes kept free on the journal's disk. @throws InvalidSetting */
export function parseDiskReserveBytes(environment: Environment): number {
  return readSetting("diskReserveMb", undefined, environment) * MEBIBYTE;
}
