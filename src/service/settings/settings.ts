// Table of every setting: its flag, its environment variables, the values it takes, its default
// and one sentence. `serve` reads it for its flags, its help and its checks, and the reference page
// is written from it, so that none of them can say something else.
import {
  EVIDENCE_ROWS_MAX,
  QUERY_MEMORY_MEGABYTES,
  SNAPSHOT_OUTCOMES,
} from "../../contract/setting-defaults.ts";
import { EVIDENCE_KINDS } from "../../contract/vocabulary.ts";
import { parseSeedRules, type SeedRules } from "../../kaizen/credibility/seeds.ts";
import { DISK_RESERVE_BYTES } from "../../ledger/disk/reserve.ts";
import { isServiceId } from "../../ledger/service-id.ts";
import { CONSOLE_MODES } from "../../http/console/console.ts";
import { parseNetworks } from "../../webhooks/address.ts";
import { type CallerSource, parseCallerSource } from "../../http/grpc/caller.ts";
import { HTTP_ADAPTERS } from "../../http/server/port.ts";
import { isTimeZone } from "../../store/local-time.ts";
import { HTTP_THREADS_MAX, SCORING_MODES } from "../../threads/scoring/modes.ts";
import { LOG_AND_TRACE_SETTINGS } from "./log-settings.ts";
import { LISTEN_SETTINGS } from "./listen-settings.ts";
import { CLUSTER_SETTINGS } from "./cluster-settings.ts";
import { RATE_AND_RETENTION_SETTINGS, CAPACITY_SETTINGS } from "./limit-settings.ts";
import {
  createChoiceKind,
  createDecimalKind,
  listenAddressKind,
  onOffKind,
  createSecretKind,
  type Setting,
  type SettingKind,
  createTextKind,
  createSecondsKind,
  createCheckedTextKind,
  createWholeNumberKind,
  createWordListKind,
} from "./setting-kinds.ts";

export const MEBIBYTE = 1024 * 1024;

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting that cannot be meant; the entry answers with the usage exit code. */
export class InvalidSetting extends Error {}

const UNIT_NAME = /^[^\p{C}\p{Z}]{1,16}$/u;
const unitNameKind = createCheckedTextKind("a name of 1 to 16 visible characters", (text) =>
  UNIT_NAME.test(text),
);

const seedRulesKind: SettingKind<SeedRules> = {
  takes: "a list with commas of agents, `agent://NAMESPACE/*`, `keys` and `earliest`",
  read: parseSeedRules,
};

const callerSourceKind: SettingKind<CallerSource> = {
  takes: "`principal` or `header:NAME` in lower case",
  read: parseCallerSource,
};

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/;

const hostsKind: SettingKind<readonly string[]> = {
  takes: "a list with commas of host names (`trust.example.com`, `10.0.0.7:8080`)",
  read: (text) => {
    const names = text.split(",").map((name) => name.trim().toLowerCase());
    const wrong = names.find((name) => !HOST.test(name));
    if (wrong !== undefined) throw new RangeError(`\`${wrong}\` is not a host name`);
    return names;
  },
};

/** Checked here, read by the thread that tells them. */
const networksKind: SettingKind<string> = {
  takes: "a list with commas of networks (`10.0.0.0/8,::1/128`)",
  read: (text) => {
    parseNetworks(text);
    return text;
  },
};

export const SETTINGS = {
  config: {
    flag: "--config <file>",
    variables: ["TRUSTRANK_CONFIG"],
    kind: createTextKind("a file"),
    default: undefined,
    sentence: "YAML file of settings, their names in snake case; the environment wins over it",
    readBy: "serve and commands",
  },
  ...LISTEN_SETTINGS,
  dataDir: {
    flag: "--data-dir <dir>",
    variables: ["TRUSTRANK_DATA_DIR"],
    kind: createTextKind("a directory"),
    default: "data/local",
    sentence: "data directory: journal, keys and store, of one process at a time",
    readBy: "serve and commands",
  },
  ownerWait: {
    flag: "--owner-wait <seconds>",
    variables: ["TRUSTRANK_OWNER_WAIT_SECONDS"],
    kind: createDecimalKind(0, 3600),
    default: 10,
    sentence: "seconds to wait for a process that still owns the data directory and is ending",
    readBy: "serve and commands",
  },
  httpThreads: {
    flag: "--http-threads <count>",
    variables: ["TRUSTRANK_HTTP_THREADS"],
    kind: createWholeNumberKind(1, HTTP_THREADS_MAX),
    default: 1,
    sentence: "threads that serve HTTP on the one port",
  },
  httpAdapter: {
    variables: ["TRUSTRANK_HTTP_ADAPTER"],
    kind: createChoiceKind(HTTP_ADAPTERS),
    default: "auto" as const,
    sentence:
      "HTTP server: uWebSockets.js (uws), Node's own (node), or the first that runs here (auto)",
  },
  metricsListen: {
    flag: "--metrics-listen <address>",
    variables: ["TRUSTRANK_METRICS_LISTEN"],
    kind: listenAddressKind,
    default: undefined,
    defaultText: "none: `/metrics` is on the port of everything else, with a key",
    sentence:
      "address and port of a listener that serves `/metrics` without a key, and nothing else",
  },
  connectionsMax: {
    variables: ["TRUSTRANK_CONNECTIONS_MAX"],
    kind: createWholeNumberKind(16, 1_000_000),
    default: undefined,
    defaultText: "what the descriptor limit leaves, at most 20000",
    sentence: "open connections; beyond it the longest idle ones are closed, or new ones",
  },
  grpcPort: {
    flag: "--grpc-port <port>",
    variables: ["TRUSTRANK_GRPC_PORT"],
    kind: createWholeNumberKind(0, 65_535),
    default: undefined,
    defaultText: "off",
    sentence: "port for Envoy's external authorization over gRPC; 0 takes any free one",
  },
  grpcCaller: {
    variables: ["TRUSTRANK_GRPC_CALLER"],
    kind: callerSourceKind,
    default: undefined,
    defaultText: "principal",
    sentence:
      "whom Envoy asks about: the URI of its client's certificate, or that in a header which " +
      "Envoy sets and drops from what clients send",
  },
  scoring: {
    flag: "--scoring <mode>",
    variables: ["SCORING"],
    kind: createChoiceKind(SCORING_MODES),
    default: "auto" as const,
    sentence:
      "where large batches are scored: inline, on a pool, or each where it is cheaper (auto)",
  },
  sample: {
    flag: "--no-sample",
    variables: ["TRUSTRANK_SAMPLE"],
    kind: onOffKind,
    default: true,
    defaultText: "on",
    sentence: "load the sample history into an empty data directory; the flag says no",
  },
  adminKey: {
    variables: ["TRUSTRANK_ADMIN_KEY"],
    kind: createSecretKind("32 or more visible ASCII characters", /^[\x21-\x7e]{32,}$/),
    isSecret: true,
    default: undefined,
    defaultText: "made at the first start and shown once",
    sentence: "admin key of your own; kept as a hash, never printed",
  },
  serviceId: {
    variables: ["TRUSTRANK_SERVICE_ID"],
    kind: createCheckedTextKind("visible ASCII of at most 256 characters", isServiceId),
    default: undefined,
    defaultText: "made at the first start",
    sentence: "name of this deployment, the audience of signed outcomes",
  },
  requireSignature: {
    variables: ["OUTCOMES_REQUIRE_SIGNATURE"],
    kind: onOffKind,
    default: false,
    defaultText: "off",
    sentence: "refuse outcomes without a reporter's signature",
  },
  snapshotOutcomes: {
    variables: ["TRUSTRANK_SNAPSHOT_OUTCOMES"],
    kind: createWholeNumberKind(1, 999_999_999_999),
    default: SNAPSHOT_OUTCOMES,
    sentence: "outcomes between two snapshots of the agent table",
  },
  diskReserveMb: {
    variables: ["TRUSTRANK_DISK_RESERVE_MB"],
    kind: createWholeNumberKind(0, 9_999_999),
    default: DISK_RESERVE_BYTES / MEBIBYTE,
    sentence:
      "MiB of ballast beside the journal, and of free space below which outcomes are refused " +
      "with 503; 0 for neither",
    readBy: "serve and commands",
  },
  archive: {
    flag: "--archive <dir>",
    variables: ["TRUSTRANK_ARCHIVE"],
    kind: createTextKind("a directory"),
    default: undefined,
    sentence: "directory on another disk that gets all that a backup has, while the service runs",
  },
  archiveEvery: {
    flag: "--archive-every <seconds>",
    variables: ["TRUSTRANK_ARCHIVE_EVERY_SECONDS"],
    kind: createSecondsKind(1, 300),
    default: 10,
    sentence: "seconds between two shipments to the archive: what a lost disk takes with it",
  },
  ...CLUSTER_SETTINGS,
  webhookAllow: {
    variables: ["TRUSTRANK_WEBHOOK_ALLOW"],
    kind: networksKind,
    default: undefined,
    defaultText: "none: public addresses, by https",
    sentence: "private networks in which webhook endpoints may lie, by http too",
  },
  ...LOG_AND_TRACE_SETTINGS,
  console: {
    flag: "--console <where>",
    variables: ["TRUSTRANK_CONSOLE"],
    kind: createChoiceKind(CONSOLE_MODES),
    default: "loopback" as const,
    sentence:
      "where people may open the console: `loopback`: as `127.0.0.1` or `localhost` (also through a " +
      "forwarded or published port), and under a named host through a proxy that ends TLS; `on`: " +
      "under every named host, and the start prints a login link on every address; `off`",
  },
  consoleHosts: {
    variables: ["TRUSTRANK_CONSOLE_HOSTS"],
    kind: hostsKind,
    default: undefined,
    defaultText: "this machine's own names",
    sentence: "further hosts under which the console is reached, with commas",
  },
  consoleInsecure: {
    variables: ["TRUSTRANK_CONSOLE_INSECURE"],
    kind: createChoiceKind(["true", "false"]),
    default: "false" as const,
    sentence:
      "`true`: its cookie without `Secure`, for a browser that refuses that on plain loopback",
  },
  unitOfAccount: {
    flag: "--unit-of-account <name>",
    variables: ["TRUSTRANK_UNIT_OF_ACCOUNT"],
    kind: unitNameKind,
    default: "unit",
    sentence:
      "what stakes are counted in, such as `EUR`: a name that the console shows beside amounts; " +
      "a tenant with another unit says in its policy what that is worth (`stakes.unit`)",
  },
  ...CAPACITY_SETTINGS,
  scrubHours: {
    variables: ["TRUSTRANK_SCRUB_HOURS"],
    kind: createDecimalKind(0, 500),
    default: 24,
    sentence: "hours between two looks at all sealed segments of the journal; 0: only at starts",
  },
  ...RATE_AND_RETENTION_SETTINGS,
  timeZone: {
    variables: ["TRUSTRANK_TIME_ZONE"],
    kind: createCheckedTextKind("the name of a time zone, such as `Europe/Berlin`", isTimeZone),
    default: "UTC",
    sentence: "zone of the columns of SQL that end in `_local`",
    readBy: "serve and commands",
  },
  queryMemoryMb: {
    variables: ["TRUSTRANK_QUERY_MEMORY_MB"],
    kind: createWholeNumberKind(QUERY_MEMORY_MEGABYTES, 1_048_576),
    default: QUERY_MEMORY_MEGABYTES,
    sentence: "MiB that the process which runs callers' SQL may use; half of it is DuckDB's own",
  },
  kaizen: {
    variables: ["TRUSTRANK_KAIZEN"],
    kind: onOffKind,
    default: true,
    defaultText: "on",
    sentence: "re-fit the weights every week; by command it is always possible",
  },
  kaizenRows: {
    variables: ["TRUSTRANK_KAIZEN_ROWS"],
    kind: createWholeNumberKind(100_000, 100_000_000),
    default: EVIDENCE_ROWS_MAX,
    sentence:
      "outcomes that a run of kaizen learns from and tests on, of more a random sample; a row takes some 700 bytes of memory",
    readBy: "serve and commands",
  },
  kaizenEvidence: {
    flag: "--kaizen-evidence <kinds>",
    variables: ["TRUSTRANK_KAIZEN_EVIDENCE"],
    kind: createWordListKind(EVIDENCE_KINDS),
    default: undefined,
    defaultText: EVIDENCE_KINDS.join(","),
    sentence:
      "outcomes that teach the weights, by who signed them: the reporter's key, the bureau for a first-party API key, an import",
    readBy: "serve and commands",
  },
  seeds: {
    variables: ["TRUSTRANK_SEEDS"],
    kind: seedRulesKind,
    default: undefined,
    sentence: "reporters that you vouch for; without any, no credibility is computed",
    readBy: "serve and commands",
  },
  credibility: {
    variables: ["TRUSTRANK_CREDIBILITY"],
    kind: onOffKind,
    default: undefined,
    defaultText: "on",
    sentence: "weigh reporters by their credibility; off: each counts fully from the next start on",
    readBy: "serve and commands",
  },
  testAgents: {
    variables: ["TRUSTRANK_TEST_AGENTS"],
    kind: onOffKind,
    default: undefined,
    defaultText: "on, in production off",
    sentence: "answer for the reserved agents `agent://test/...`",
  },
  nodeEnv: {
    variables: ["NODE_ENV"],
    kind: createTextKind("a word"),
    default: undefined,
    sentence: "`production` switches the test agents off",
  },
  url: {
    flag: "--url <url>",
    variables: ["TRUSTRANK_URL"],
    kind: createTextKind("a URL, or `unix:/path` of a socket"),
    default: undefined,
    defaultText: "the server that holds the data directory",
    sentence: "server that a command talks to",
    readBy: "commands",
  },
  key: {
    flag: "--key <key>",
    variables: ["TRUSTRANK_KEY", "TRUSTRANK_ADMIN_KEY"],
    kind: createTextKind("an API key"),
    isSecret: true,
    default: undefined,
    sentence: "API key for the server",
    readBy: "commands",
  },
} satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

type SettingValue<Name extends SettingName> =
  | ReturnType<(typeof SETTINGS)[Name]["kind"]["read"]>
  | (typeof SETTINGS)[Name]["default"];

/** Values of flags, by the names of their settings. */
export type SettingFlags = { readonly [Name in Exclude<SettingName, "sample">]?: string };

/** Reads settings by name: the value of the flag, else of the environment, else the default. */
export type SettingReader = <Name extends SettingName>(name: Name) => SettingValue<Name>;

/** The reader throws InvalidSetting for a wrong value, and only for a setting that it is asked for. */
export function createSettingReader(flags: SettingFlags, environment: Environment): SettingReader {
  const texts: Partial<Record<SettingName, string>> = flags;
  // The flag `--no-sample` is a boolean.
  return (name) => readSetting(name, name === "sample" ? undefined : texts[name], environment);
}

/**
 * The value of a setting: the flag's, else that of the first variable that is set (an empty one is
 * not), else the default. @throws InvalidSetting naming the flag or the variable that is wrong.
 */
export function readSetting<Name extends SettingName>(
  name: Name,
  flag: string | undefined,
  environment: Environment,
): SettingValue<Name> {
  const setting: Setting = SETTINGS[name];
  const variable = setting.variables.find((each) => (environment[each] ?? "") !== "");
  const given = flag ?? (variable === undefined ? undefined : environment[variable]);
  if (given === undefined) return SETTINGS[name].default;
  try {
    return setting.kind.read(given) as SettingValue<Name>;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const origin = flag === undefined ? variable : setting.flag?.replace(/ .*/, "");
    throw new InvalidSetting(`${origin}: ${error.message}`);
  }
}
