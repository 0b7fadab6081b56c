// Settings of limits: how much room callers may take, how fast, and how long what they sent is kept.
import { QUEUE_MS_MAX_DEFAULT } from "../../http/server/overload-detector.ts";
import { TABLE_MIB_MAX, TABLE_MIB_MIN } from "../../engine/table-use.ts";
import { NEWCOMERS_PER_HOUR } from "../../ledger/admission/newcomer-limits.ts";
import {
  DECISIONS_KEPT_DAYS,
  DECISIONS_MEBIBYTES_PER_DAY,
  OUTCOMES_KEPT_DAYS,
  PROVENANCE_KEPT_DAYS,
  STORE_MEMORY_MEGABYTES,
} from "../../contract/setting-defaults.ts";
import { DECISIONS_MEBIBYTES_PER_DAY_MAX } from "../../store/decisions/budget.ts";
import { SOURCES_MAX, SOURCES_PER_TENANT_DEFAULT } from "../../vault/sources/catalogue.ts";
import {
  optionalRateKind,
  rateKind,
  type Setting,
  createWholeNumberKind,
} from "./setting-kinds.ts";

const DAYS_KIND = createWholeNumberKind(1, 99_999);

/** Room in the agent table and in the vault. */
export const CAPACITY_SETTINGS = {
  tableMb: {
    variables: ["TRUSTRANK_TABLE_MB"],
    kind: createWholeNumberKind(TABLE_MIB_MIN, TABLE_MIB_MAX),
    default: TABLE_MIB_MAX,
    sentence:
      "MiB that the agent table may have; new agents and pairs beyond it are refused with 507",
    readBy: "serve and commands",
  },
  newAgentsPerHour: {
    variables: ["TRUSTRANK_NEW_AGENTS_PER_HOUR"],
    kind: createWholeNumberKind(0, 999_999_999),
    default: NEWCOMERS_PER_HOUR.agents,
    sentence:
      "agents never heard of before that the outcomes of one key may name by the hour; 0: no limit",
  },
  newPairsPerHour: {
    variables: ["TRUSTRANK_NEW_PAIRS_PER_HOUR"],
    kind: createWholeNumberKind(0, 999_999_999),
    default: NEWCOMERS_PER_HOUR.pairs,
    sentence: "pairs of subject and reporter, likewise; 0: no limit",
  },
  sourcesPerTenant: {
    variables: ["TRUSTRANK_SOURCES_PER_TENANT"],
    kind: createWholeNumberKind(1, SOURCES_MAX),
    default: SOURCES_PER_TENANT_DEFAULT,
    sentence: "sources that one tenant may register; revoked ones give way to new ones",
  },
} satisfies Record<string, Setting>;

/** Rates, and what is logged and kept. */
export const RATE_AND_RETENTION_SETTINGS = {
  rateScore: {
    variables: ["TRUSTRANK_RATE_SCORE"],
    kind: rateKind,
    default: undefined,
    defaultText: "unlimited",
    sentence: "paid reads per second and key",
  },
  rateOutcomes: {
    variables: ["TRUSTRANK_RATE_OUTCOMES"],
    kind: optionalRateKind,
    default: undefined,
    defaultText: "`1000/100000`",
    sentence:
      "reported outcomes per second and tenant; none for first-party keys, administrators and imports",
  },
  queueMsMax: {
    variables: ["TRUSTRANK_QUEUE_MS_MAX"],
    kind: createWholeNumberKind(0, 99_999),
    default: QUEUE_MS_MAX_DEFAULT,
    sentence:
      "ms that a round of requests of a thread may take; while it is more, those that come last are answered 503 `overloaded` at once; 0: never",
  },
  decisionsMbPerDay: {
    variables: ["TRUSTRANK_DECISIONS_MB_PER_DAY"],
    kind: createWholeNumberKind(1, DECISIONS_MEBIBYTES_PER_DAY_MAX),
    default: DECISIONS_MEBIBYTES_PER_DAY,
    sentence:
      "MiB of records per day up to which every decision is logged; beyond it a weighted sample, and all are counted",
  },
  decisionsKeptDays: {
    variables: ["TRUSTRANK_DECISIONS_KEPT_DAYS"],
    kind: DAYS_KIND,
    default: DECISIONS_KEPT_DAYS,
    sentence: "days that rows of the decision log are kept; daily counts stay",
  },
  outcomesKeptDays: {
    variables: ["TRUSTRANK_OUTCOMES_KEPT_DAYS"],
    kind: DAYS_KIND,
    default: OUTCOMES_KEPT_DAYS,
    sentence: "days that outcomes can be queried one by one; daily counts and the journal stay",
  },
  provenanceKeptDays: {
    variables: ["TRUSTRANK_PROVENANCE_KEPT_DAYS"],
    kind: DAYS_KIND,
    default: PROVENANCE_KEPT_DAYS,
    sentence: "days that provenance told afterwards can be queried; the journal stays",
  },
  storeMemoryMb: {
    variables: ["TRUSTRANK_STORE_MEMORY_MB"],
    kind: createWholeNumberKind(32, 999_999),
    default: STORE_MEMORY_MEGABYTES,
    sentence: "MiB that DuckDB may use; four times as much for a moment when its log needs it",
  },
} satisfies Record<string, Setting>;
