// Settings of a process, read once: flags win over the environment, the environment over the
// defaults. With src/service/start.ts and the commands this is the only reader of the environment.
import { parseSeedRules } from "../kaizen/credibility/seeds.ts";
import type { SeedRules } from "../kaizen/credibility/seeds.ts";
import { LET_THROUGH_PER_SECOND } from "../store/decisions/ring.ts";
import { DISK_RESERVE_BYTES } from "../ledger/disk-reserve.ts";
import { SNAPSHOT_OUTCOMES } from "../ledger/snapshot/taker.ts";
import { isServiceId } from "../ledger/service-id.ts";
import type { RateLimit, RateLimits } from "../http/access/rate-limits.ts";
import { HTTP_THREADS_MAX, SCORING_MODES } from "../threads/scoring/pool.ts";
import type { ScoringMode } from "../threads/scoring/pool.ts";
import { DECISIONS_KEPT_DAYS, OUTCOMES_KEPT_DAYS } from "../store/client.ts";
import { isAbsolute, resolve } from "node:path";

/** Settings of the journal and of the files derived from it. */
export interface JournalSettings {
  /** Outcomes between two snapshots of the agent table. */
  readonly snapshotOutcomes: number;
  /** Size in bytes of the ballast on the journal's disk, and of its watermark; 0 for neither. */
  readonly reserveBytes: number;
  /** Interval in ms between two scrubs of all sealed segments; undefined: at starts only. */
  readonly scrubEveryMs: number | undefined;
}

/** Settings of `serve`. */
export interface ServeConfig {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
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
  /** Whether reporters are weighed by credibility; undefined: as in the shipped config. */
  readonly isCredibilityWanted: boolean | undefined;
  /** Reporters that the operator vouches for; undefined: none, and no standing is computed. */
  readonly seeds: SeedRules | undefined;
  readonly journal: JournalSettings;
  /** Days that rows of the decision log are kept; daily counts stay. */
  readonly decisionsKeptDays: number;
  /** Days that rows of outcomes are kept in the store; daily counts stay, the journal does too. */
  readonly outcomesKeptDays: number;
  /** Answers that let through, logged per second; denials always are. */
  readonly decisionsPerSecond: number;
  /** Threads that serve HTTP on the one port; 1 is the main thread alone. */
  readonly httpThreads: number;
  /** Per key; a class that is left out is unlimited. */
  readonly rateLimits: RateLimits;
}

/** Address and key of a running server for a command, as far as they are known. */
export interface ServerAccess {
  readonly url: string | undefined;
  readonly key: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting with an impossible value; the entry ends with the usage exit code. */
export class InvalidSetting extends Error {}

const DEFAULT_DATA_DIR = "data/local";
const DEFAULT_PORT = 8080;
const DEFAULT_HOST = "127.0.0.1";

/** Relative directories are resolved against the command's working directory. */
export function dataDirOf(flag: string | undefined, environment: Environment): string {
  const dataDir = flag ?? filled(environment["TRUSTRANK_DATA_DIR"]) ?? DEFAULT_DATA_DIR;
  return isAbsolute(dataDir) ? dataDir : resolve(filled(environment["INIT_CWD"]) ?? ".", dataDir);
}

/** Flags of `serve`; the rest is environment. */
export interface ServeFlags {
  port?: string;
  host?: string;
  dataDir?: string;
  sample: boolean;
  scoring?: string;
  httpThreads?: string;
}

/**
 * Reads the settings of `serve`.
 * @throws InvalidSetting when a setting has an impossible value, a port out of range for one.
 */
export function serveConfigOf(flags: ServeFlags, environment: Environment): ServeConfig {
  const port = flags.port ?? filled(environment["TRUSTRANK_PORT"]) ?? filled(environment["PORT"]);
  const testAgents = filled(environment["TRUSTRANK_TEST_AGENTS"]);
  return {
    host: flags.host ?? filled(environment["TRUSTRANK_HOST"]) ?? DEFAULT_HOST,
    port: port === undefined ? DEFAULT_PORT : portOf(port),
    dataDir: dataDirOf(flags.dataDir, environment),
    isSampleWanted: flags.sample,
    adminKey: filled(environment["TRUSTRANK_ADMIN_KEY"]),
    serviceId: serviceIdOf(filled(environment["TRUSTRANK_SERVICE_ID"])),
    isSignatureRequired: environment["OUTCOMES_REQUIRE_SIGNATURE"] === "1",
    scoring: scoringOf(flags.scoring ?? filled(environment["SCORING"]) ?? "auto"),
    isKaizenScheduled: environment["TRUSTRANK_KAIZEN"] !== "off",
    ...credibilityOf(environment),
    journal: {
      snapshotOutcomes: countOf(filled(environment["TRUSTRANK_SNAPSHOT_OUTCOMES"])),
      reserveBytes: diskReserveOf(environment),
      scrubEveryMs: scrubOf(filled(environment["TRUSTRANK_SCRUB_HOURS"]) ?? "24"),
    },
    decisionsKeptDays: daysOf(
      filled(environment["TRUSTRANK_DECISIONS_KEPT_DAYS"]) ?? String(DECISIONS_KEPT_DAYS),
    ),
    outcomesKeptDays: daysOf(
      filled(environment["TRUSTRANK_OUTCOMES_KEPT_DAYS"]) ?? String(OUTCOMES_KEPT_DAYS),
    ),
    httpThreads: threadsOf(
      flags.httpThreads ?? filled(environment["TRUSTRANK_HTTP_THREADS"]) ?? "1",
    ),
    rateLimits: {
      ...limitOf("score", filled(environment["TRUSTRANK_RATE_SCORE"])),
      ...limitOf("outcomes", filled(environment["TRUSTRANK_RATE_OUTCOMES"])),
    },
    decisionsPerSecond: rateOf(filled(environment["TRUSTRANK_DECISIONS_PER_SECOND"])),
    // Off in production by default: a test agent must never open a real door.
    isReservedEnabled:
      testAgents === undefined ? environment["NODE_ENV"] !== "production" : testAgents === "1",
  };
}

/** An admin key given to the server is also good for talking to it. */
export function serverAccessOf(
  flags: { url?: string; key?: string },
  environment: Environment,
): ServerAccess {
  return {
    url: flags.url ?? filled(environment["TRUSTRANK_URL"]),
    key:
      flags.key ??
      filled(environment["TRUSTRANK_KEY"]) ??
      filled(environment["TRUSTRANK_ADMIN_KEY"]),
  };
}

/** An empty variable is an unset one. */
function filled(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

function scoringOf(text: string): ScoringMode {
  const mode = SCORING_MODES.find((each) => each === text);
  if (mode !== undefined) return mode;
  throw new InvalidSetting(`\`${text}\` is not a scoring mode (${SCORING_MODES.join(", ")})`);
}

function countOf(text: string | undefined): number {
  if (text === undefined) return SNAPSHOT_OUTCOMES;
  const count = Number(text);
  if (/^\d{1,12}$/.test(text) && count > 0) return count;
  throw new InvalidSetting(`TRUSTRANK_SNAPSHOT_OUTCOMES: \`${text}\` is not a number above 0`);
}

/** Seeds, and whether to weigh by them; also for commands that work on the files. */
export function credibilityOf(
  environment: Environment,
): Pick<ServeConfig, "isCredibilityWanted" | "seeds"> {
  const text = filled(environment["TRUSTRANK_SEEDS"]);
  const wanted = filled(environment["TRUSTRANK_CREDIBILITY"]);
  if (wanted !== undefined && wanted !== "on" && wanted !== "off") {
    throw new InvalidSetting(`TRUSTRANK_CREDIBILITY: \`${wanted}\` is neither on nor off`);
  }
  const isCredibilityWanted = wanted === undefined ? undefined : wanted === "on";
  try {
    return { isCredibilityWanted, seeds: text === undefined ? undefined : parseSeedRules(text) };
  } catch (error) {
    throw new InvalidSetting(`TRUSTRANK_SEEDS: ${(error as Error).message}`);
  }
}

/**
 * Bytes kept free on the journal's disk.
 * @throws InvalidSetting when the setting has an impossible value.
 */
export function diskReserveOf(environment: Environment): number {
  const text = filled(environment["TRUSTRANK_DISK_RESERVE_MB"]);
  if (text === undefined) return DISK_RESERVE_BYTES;
  if (/^\d{1,7}$/.test(text)) return Number(text) * 1024 * 1024;
  throw new InvalidSetting(`TRUSTRANK_DISK_RESERVE_MB: \`${text}\` is not a number of MiB`);
}

/** Hours; parts of one are for tests. */
function scrubOf(text: string): number | undefined {
  const hours = Number(text);
  if (/^\d{1,3}(\.\d{1,6})?$/.test(text) && hours <= 500) {
    return hours === 0 ? undefined : hours * 3_600_000;
  }
  throw new InvalidSetting(
    `TRUSTRANK_SCRUB_HOURS: \`${text}\` is not a number of hours (0 to 500)`,
  );
}

function daysOf(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidSetting(`\`${text}\` is not a number of days (1 to 99999)`);
}

function rateOf(text: string | undefined): number {
  if (text === undefined) return LET_THROUGH_PER_SECOND;
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidSetting(`\`${text}\` is not a number of decisions per second`);
}

function threadsOf(text: string): number {
  const count = Number(text);
  if (/^\d{1,2}$/.test(text) && count >= 1 && count <= HTTP_THREADS_MAX) return count;
  throw new InvalidSetting(
    `\`${text}\` is not a number of HTTP threads (1 to ${HTTP_THREADS_MAX})`,
  );
}

/** `2000`, or with another burst than the rate itself `2000/4000`. */
function limitOf(rateClass: keyof RateLimits, text: string | undefined): RateLimits {
  if (text === undefined) return {};
  const [perSecond = 0, burst = perSecond] = text.split("/").map(Number);
  const limit: RateLimit = { perSecond, burst };
  if (/^\d{1,7}(\/\d{1,7})?$/.test(text) && perSecond > 0 && burst > 0) {
    return { [rateClass]: limit };
  }
  const name = `TRUSTRANK_RATE_${rateClass.toUpperCase()}`;
  throw new InvalidSetting(`${name}: \`${text}\` is not a rate per second (2000 or 2000/4000)`);
}

function serviceIdOf(text: string | undefined): string | undefined {
  if (text === undefined || isServiceId(text)) return text;
  throw new InvalidSetting("TRUSTRANK_SERVICE_ID must be visible ASCII, at most 256 characters");
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new InvalidSetting(`\`${text}\` is not a port (0 to 65535)`);
  }
  return port;
}
