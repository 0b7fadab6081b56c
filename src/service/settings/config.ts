// Configuration of `serve`, read once: flags win over the environment, the environment over the defaults
// (src/service/settings/settings.ts). With src/service/start.ts and the commands this is the only reader of the
// environment.
import { isAbsolute, resolve } from "node:path";
import { HOUR_MS } from "../../contract/units.ts";
import { convertMebibytesToTableBytes } from "../../engine/table-use.ts";
import type { ConsoleOptions } from "../../http/console/console.ts";
import { CALLER_BY_PRINCIPAL } from "../../http/grpc/caller.ts";
import { type RateLimit, OUTCOME_RATE_DEFAULT } from "../../http/access/rate-limits.ts";
import { isLoopbackHost } from "../../http/metrics/listener.ts";
import type { TracedShare } from "../../http/request-watch.ts";
import { parseClusterConfig } from "./cluster-config.ts";
import { TRACES_PATH } from "./log-settings.ts";
import {
  createSettingReader,
  type Environment,
  InvalidSetting,
  MEBIBYTE,
  readSetting,
  type SettingFlags,
  type SettingReader,
} from "./settings.ts";

const MS_PER_SECOND = 1000;

/** Settings of `serve`. */
export type ServeConfig = Readonly<ReturnType<typeof parseServeConfig>>;

/** URL and API key of a running server for a command; undefined where not given. */
export type ServerAccess = Readonly<ReturnType<typeof parseServerAccess>>;

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
export type ServeFlags = SettingFlags & { readonly sample: boolean };

/** @throws InvalidSetting for a setting with an impossible value, a port out of range for one. */
export function parseServeConfig(flags: ServeFlags, environment: Environment) {
  const read = createSettingReader(flags, environment);
  const listen = parseListenConfig(flags, environment);
  return {
    log: parseLogConfig(flags, environment),
    watch: parseWatchConfig(read),
    console: parseConsoleConfig(listen, read),
    ...listen,
    dataDir: parseDataDirectory(flags.dataDir, environment),
    ownerWaitMs: parseOwnerWaitMs(flags.ownerWait, environment),
    isSampleWanted: flags.sample && read("sample"),
    adminKey: read("adminKey"),
    serviceId: read("serviceId"),
    isSignatureRequired: read("requireSignature"),
    scoring: read("scoring"),
    isKaizenScheduled: read("kaizen"),
    kaizenRows: read("kaizenRows"),
    kaizenEvidence: read("kaizenEvidence"),
    ...parseCredibilityConfig(environment),
    journal: parseJournalConfig(read, environment),
    archive: parseArchiveConfig(read, environment),
    cluster: parseClusterConfig(flags, environment),
    webhookAllow: read("webhookAllow"),
    signalsFile: read("signalsFile"),
    decisionsKeptDays: read("decisionsKeptDays"),
    outcomesKeptDays: read("outcomesKeptDays"),
    provenanceKeptDays: read("provenanceKeptDays"),
    storeMemoryMegabytes: read("storeMemoryMb"),
    timeZone: read("timeZone"),
    queryMemoryMegabytes: read("queryMemoryMb"),
    httpThreads: read("httpThreads"),
    drainMs: read("drainMs"),
    httpAdapter: read("httpAdapter"),
    metricsListen: read("metricsListen"),
    connectionsMax: read("connectionsMax"),
    grpc: parseGrpcConfig(read),
    sourcesPerTenant: read("sourcesPerTenant"),
    rateLimits: {
      score: read("rateScore"),
      outcomes: resolveOutcomeRate(read("rateOutcomes")),
    },
    queueMsMax: read("queueMsMax"),
    decisionsBytesPerDay: read("decisionsMbPerDay") * MEBIBYTE,
    // Off in production unless asked for: a test agent must never be allowed there by accident.
    isReservedEnabled: read("testAgents") ?? read("nodeEnv") !== "production",
  };
}

function resolveOutcomeRate(given: RateLimit | "unlimited" = OUTCOME_RATE_DEFAULT) {
  return given === "unlimited" ? undefined : given;
}

/** @throws InvalidSetting */
export function parseLogConfig(flags: ServeFlags, environment: Environment) {
  const read = createSettingReader(flags, environment);
  return { level: read("logLevel"), format: read("logFormat") };
}

/** Envoy's external authorization over gRPC; undefined: off. */
function parseGrpcConfig(read: SettingReader) {
  const source = read("grpcCaller") ?? CALLER_BY_PRINCIPAL;
  const port = read("grpcPort");
  return port === undefined ? undefined : { port, source };
}

/** The journal and the files derived from it. */
function parseJournalConfig(read: SettingReader, environment: Environment) {
  const scrubHours = read("scrubHours");
  return {
    snapshotOutcomes: read("snapshotOutcomes"),
    reserveBytes: parseDiskReserveBytes(environment),
    tableBytesMax: parseTableBytesMax(environment),
    newcomersPerHour: {
      agents: read("newAgentsPerHour") || Infinity,
      pairs: read("newPairsPerHour") || Infinity,
    },
    /** Undefined: at starts only. */
    scrubEveryMs: scrubHours === 0 ? undefined : scrubHours * HOUR_MS,
  };
}

/** A relative directory is resolved against the command's working directory. */
function parseArchiveConfig(read: SettingReader, environment: Environment) {
  const directory = read("archive");
  const everyMs = read("archiveEvery") * MS_PER_SECOND;
  if (directory === undefined || directory === "") return undefined;
  return { directory: resolve(environment["INIT_CWD"] || ".", directory), everyMs };
}

/** @throws InvalidSetting where two flags contradict each other, or a value is wrong. */
function parseListenConfig(flags: ServeFlags, environment: Environment) {
  const read = createSettingReader(flags, environment);
  const host = read("host");
  const port = read("port");
  const list = read("listen");
  if (flags.listen !== undefined && (flags.host !== undefined || flags.port !== undefined)) {
    throw new InvalidSetting("--listen names every address: leave --host and --port out");
  }
  const sockets = {
    paths: list?.sockets ?? [],
    mode: Number.parseInt(read("socketMode"), 8),
    /** Name or number; undefined: the process's own. */
    group: read("socketGroup"),
  };
  /** False: the service listens on the sockets only. */
  const isTcpWanted = list === undefined || list.tcp !== undefined;
  if (!isTcpWanted && read("httpThreads") > 1) {
    throw new InvalidSetting("several HTTP threads share a port: --listen has none");
  }
  return { host, port, ...list?.tcp, isTcpWanted, sockets };
}

/** @throws InvalidSetting */
function parseConsoleConfig(
  { host, isTcpWanted }: { readonly host: string; readonly isTcpWanted: boolean },
  read: SettingReader,
): ConsoleOptions {
  const mode = read("console");
  const isInsecure = read("consoleInsecure") === "true";
  const isBoundToLoopback = isTcpWanted && isLoopbackHost(host);
  if (isInsecure && !isBoundToLoopback) {
    throw new InvalidSetting("TRUSTRANK_CONSOLE_INSECURE is for a service on loopback alone");
  }
  return {
    mode,
    hosts: read("consoleHosts") ?? [],
    isBoundToLoopback,
    isInsecure,
    unitOfAccount: read("unitOfAccount"),
  };
}

/** Access log and traces. */
export interface WatchConfig {
  /** 0 to 1. */
  readonly accessLogShare: number;
  /** Undefined: no spans. */
  readonly traces: { readonly url: string; readonly shares: TracedShare } | undefined;
}

/** An unknown sampler is an error only where traces are on. @throws InvalidSetting */
function parseWatchConfig(read: SettingReader): WatchConfig {
  const accessLogShare = read("accessLog");
  const endpoint = read("otlpEndpoint");
  const url =
    read("otlpTracesEndpoint") ??
    (endpoint === undefined ? undefined : `${endpoint.replace(/\/+$/, "")}/${TRACES_PATH}`);
  const isOff = read("otelDisabled") === "true";
  if (isOff || url === undefined) return { accessLogShare, traces: undefined };
  const sampler = read("tracesSampler");
  const ratio = read("tracesSamplerArg");
  const isParentBased = sampler.startsWith("parentbased_");
  const share = sampler.endsWith("always_on") ? 1 : sampler.endsWith("always_off") ? 0 : ratio;
  const isNeverTraced = share === 0 && !isParentBased;
  return {
    accessLogShare,
    traces: isNeverTraced ? undefined : { url, shares: { share, isParentBased } },
  };
}

/** An admin key given to the server is also good for talking to it. */
export function parseServerAccess(flags: SettingFlags, environment: Environment) {
  const read = createSettingReader(flags, environment);
  return { url: read("url"), key: read("key") };
}

/** Seeds, and whether to weigh by them; also for commands that work on the files. */
export function parseCredibilityConfig(environment: Environment) {
  return {
    isCredibilityWanted: readSetting("credibility", undefined, environment),
    seeds: readSetting("seeds", undefined, environment),
  };
}

/** Whether seeds are in use, so that credibility weighs each reporter and nobody needs to be vouched for. */
export function areSeedsInUse(config: Pick<ServeConfig, "isCredibilityWanted" | "seeds">): boolean {
  return config.seeds !== undefined && config.isCredibilityWanted !== false;
}

/** Bound of the agent table's heap, in bytes. @throws InvalidSetting */
export function parseTableBytesMax(environment: Environment): number {
  return convertMebibytesToTableBytes(readSetting("tableMb", undefined, environment));
}

/** Bytes kept free on the journal's disk. @throws InvalidSetting */
export function parseDiskReserveBytes(environment: Environment): number {
  return readSetting("diskReserveMb", undefined, environment) * MEBIBYTE;
}
