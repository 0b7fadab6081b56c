// The settings of a process, read once: flags win over the environment, the environment over the
// defaults (src/service/settings.ts). With src/service/start.ts and the commands this is the only
// reader of the environment.
import { isAbsolute, resolve } from "node:path";
import type { RateLimits } from "../http/access/rate-limits.ts";
import type { SeedRules } from "../kaizen/credibility/seeds.ts";
import type { ScoringMode } from "../threads/scoring/pool.ts";
import { type Environment, MEBIBYTE, readSetting } from "./settings.ts";

const MS_PER_HOUR = 3_600_000;

/** How the journal and what is derived from it are kept. */
export interface JournalSettings {
  /** Outcomes between two snapshots of the agent table. */
  readonly snapshotOutcomes: number;
  /** Ballast and watermark of the journal's disk, each of so many bytes; 0 for neither. */
  readonly reserveBytes: number;
  /** From one look at all sealed segments to the next; undefined: at starts only. */
  readonly scrubEveryMs: number | undefined;
}

/** What `serve` runs with. */
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
  /** The name of this deployment in signatures; made and kept by the service when left out. */
  readonly serviceId: string | undefined;
  /** Unsigned outcomes are refused. */
  readonly isSignatureRequired: boolean;
  /** Kaizen runs weekly by itself; by command it always can. */
  readonly isKaizenScheduled: boolean;
  /** Whether reporters are weighed by credibility; undefined: as the shipped config says. */
  readonly isCredibilityWanted: boolean | undefined;
  /** Whom the operator vouches for; undefined: nobody, and no standing is computed. */
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

/** How a command reaches a running server, as far as it was told. */
export interface ServerAccess {
  readonly url: string | undefined;
  readonly key: string | undefined;
}

/** Relative directories are taken from where the command was called. */
export function dataDirOf(flag: string | undefined, environment: Environment): string {
  const dataDir = readSetting("dataDir", flag, environment);
  // An empty variable is an unset one.
  return isAbsolute(dataDir) ? dataDir : resolve(environment["INIT_CWD"] || ".", dataDir);
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

/** @throws InvalidSetting for a setting that cannot be meant, a port that is none for one. */
export function serveConfigOf(flags: ServeFlags, environment: Environment): ServeConfig {
  return {
    host: readSetting("host", flags.host, environment),
    port: readSetting("port", flags.port, environment),
    dataDir: dataDirOf(flags.dataDir, environment),
    isSampleWanted: flags.sample,
    adminKey: readSetting("adminKey", undefined, environment),
    serviceId: readSetting("serviceId", undefined, environment),
    isSignatureRequired: readSetting("requireSignature", undefined, environment),
    scoring: readSetting("scoring", flags.scoring, environment),
    isKaizenScheduled: readSetting("kaizen", undefined, environment),
    ...credibilityOf(environment),
    journal: journalOf(environment),
    decisionsKeptDays: readSetting("decisionsKeptDays", undefined, environment),
    outcomesKeptDays: readSetting("outcomesKeptDays", undefined, environment),
    httpThreads: readSetting("httpThreads", flags.httpThreads, environment),
    rateLimits: {
      score: readSetting("rateScore", undefined, environment),
      outcomes: readSetting("rateOutcomes", undefined, environment),
    },
    decisionsPerSecond: readSetting("decisionsPerSecond", undefined, environment),
    // Refused in production unless asked for: a test agent must never open a real door.
    isReservedEnabled:
      readSetting("testAgents", undefined, environment) ??
      readSetting("nodeEnv", undefined, environment) !== "production",
  };
}

function journalOf(environment: Environment): JournalSettings {
  const scrubHours = readSetting("scrubHours", undefined, environment);
  return {
    snapshotOutcomes: readSetting("snapshotOutcomes", undefined, environment),
    reserveBytes: diskReserveOf(environment),
    scrubEveryMs: scrubHours === 0 ? undefined : scrubHours * MS_PER_HOUR,
  };
}

/** An admin key given to the server is also good for talking to it. */
export function serverAccessOf(
  flags: { url?: string; key?: string },
  environment: Environment,
): ServerAccess {
  return {
    url: readSetting("url", flags.url, environment),
    key: readSetting("key", flags.key, environment),
  };
}

/** Also for commands that work on the files: whom to believe, and whether to ask. */
export function credibilityOf(
  environment: Environment,
): Pick<ServeConfig, "isCredibilityWanted" | "seeds"> {
  return {
    isCredibilityWanted: readSetting("credibility", undefined, environment),
    seeds: readSetting("seeds", undefined, environment),
  };
}

/** Bytes kept free on the journal's disk. @throws InvalidSetting */
export function diskReserveOf(environment: Environment): number {
  return readSetting("diskReserveMb", undefined, environment) * MEBIBYTE;
}
