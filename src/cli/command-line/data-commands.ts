// Flags of the commands on the data itself: import, query, export, sources, doctor.
import { readEnvironment } from "../environment.ts";
import { EXPORT_DAYS, IMPORT_FORMATS, QUERY_FORMATS, USAGE_FORMATS } from "../../contract/views.ts";
import {
  parseDataDirectory,
  parseDiskReserveBytes,
  areSeedsInUse,
  parseCredibilityConfig,
} from "../../service/settings/config.ts";
import { parseOwnerWaitMs, parseTableBytesMax } from "../../service/settings/config.ts";
import { SETTINGS } from "../../service/settings/settings.ts";
import * as commands from "../commands.ts";
import { resolveDataAccess } from "../data-access.ts";
import {
  type Command,
  parseCount,
  parseNamespace,
  parseTenant,
  Option,
  buildSettingOption,
  parseTimeMs,
  addAccessOptions,
} from "./flags.ts";

const MINUTE_MS = 60_000;

export function addImportCommand(program: Command): void {
  addAccessOptions(program.command("import"))
    .description("load a history of outcomes through the ledger, signed by the bureau itself")
    .argument("<file>", "the file to read")
    .addOption(
      new Option("--format <format>", "format of the file")
        .choices(IMPORT_FORMATS)
        .default("ndjson"),
    )
    .option("--namespace <name>", "namespace of the numbers in snap-ratings", parseNamespace, "otc")
    .addOption(
      new Option("--rebase <when>", "shift all times; the newest becomes").choices(["now"]),
    )
    .option("--tenant <name>", "tenant that reported the rows that name none", parseTenant)
    .option(
      "--not-first-party",
      "rows that do not say count as unsigned reports of the tenant's own",
    )
    .option("--bad-lines-max <count>", "bad lines to skip before giving up", parseCount, 100)
    .action((path: string, flags) => {
      const { format, namespace, badLinesMax } = flags;
      const isRebased = flags.rebase === "now";
      const nowMs = Date.now();
      const who = {
        tenant: flags.tenant,
        isFirstParty: flags.notFirstParty === true ? false : undefined,
      };
      const options = { path, format, namespace, isRebased, nowMs, badLinesMax, ...who };
      return commands.runImport(resolveDataAccess(flags), options, flags);
    });
}

export function addScoresCommand(program: Command): void {
  const scores = program.command("scores").description("daily scores, the view scores_daily");
  addAccessOptions(scores.command("rebuild"))
    .description(
      "replay the journal and put every day before today on record as it would have ended",
    )
    .action((flags) => commands.rebuildDailyScores(resolveDataAccess(flags), flags));
}

export function addQueryCommand(program: Command): void {
  addAccessOptions(program.command("query"))
    .description("one read-only SELECT over the outcome store")
    .argument("<sql>", "the query")
    .argument("[params...]", "texts for the `?` or `$1` in it, in their order")
    .addOption(
      new Option("--format <format>", "how to print rows").choices(QUERY_FORMATS).default("table"),
    )
    .action((sql: string, params: string[], flags) =>
      commands.runQuery(resolveDataAccess(flags), { sql, params }, flags),
    );
}

export function addEvidenceCommands(program: Command): void {
  const evidence = program
    .command("evidence")
    .description("sources that citations are checked against, and labelled texts");
  addAccessOptions(evidence.command("add"))
    .description("register files, and the text, Markdown, HTML and JSON files of folders")
    .argument("<paths...>", "files and folders")
    .option("--prefix <prefix>", "put before each source id (else the path within the folder)")
    .option("--public", "every tenant may cite them (takes an admin key)")
    .action((paths: string[], flags) =>
      commands.addEvidence(resolveDataAccess(flags), paths, flags),
    );
  addAccessOptions(evidence.command("list"))
    .description("the newest sources, without their texts")
    .action((flags) => commands.listEvidence(resolveDataAccess(flags), flags));
  addAccessOptions(evidence.command("revoke"))
    .description("revoke a source at once: citing it verifies nothing")
    .argument("<id>", "id of the source")
    .action((id: string, flags) => commands.revokeEvidence(resolveDataAccess(flags), id, flags));
  addAccessOptions(evidence.command("label"))
    .description("what people found of texts: calibrates your thresholds")
    .argument("<file>", "JSON lines as in POST /v1/vault/labels")
    .action((file: string, flags) => commands.labelTexts(resolveDataAccess(flags), file, flags));
  addAccessOptions(evidence.command("thresholds"))
    .description("where texts of each kind are doubted and called hallucinated")
    .action((flags) => commands.listThresholds(resolveDataAccess(flags), flags));
}

export function addExportCommand(program: Command): void {
  addAccessOptions(program.command("export"))
    .description("every view as Parquet files, one a day where it has days")
    .requiredOption("--to <dir>", "directory to write to; days that exist are replaced")
    .option("--since <time>", "not before: a date or an RFC 3339 date-time", parseTimeMs, 0)
    .addOption(
      new Option("--by <day>", "the day of an outcome: when it was recorded, or settled")
        .choices(EXPORT_DAYS)
        .default("recorded"),
    )
    .option("--follow", "go on, and keep a read-only DuckDB file in the directory fresh")
    .option("--every <minutes>", "with --follow, minutes between two exports", parseCount, 5)
    .action((flags) => {
      const request = { to: flags.to, sinceMs: flags.since, by: flags.by };
      if (flags.follow !== true)
        return commands.runExport(resolveDataAccess(flags), request, flags);
      return commands.followExport(
        resolveDataAccess(flags),
        request,
        flags.every * MINUTE_MS,
        flags,
      );
    });
}

export function addUsageCommand(program: Command): void {
  addAccessOptions(program.command("usage"))
    .description("what each key has read, by day; what is billed, and what is free")
    .option("--month <month>", "a month such as 2026-01, UTC (default this one)")
    .option("--from <day>", "first day, instead of a month")
    .option("--to <day>", "last day")
    .option(
      "--by <names>",
      "what rows are told apart by: day, month, tenant, key",
      "day,tenant,key",
    )
    .addOption(
      new Option("--format <format>", "how to write rows").choices(USAGE_FORMATS).default("table"),
    )
    .option("--out <file>", "write to this file")
    .action((flags) => commands.showUsage(resolveDataAccess(flags), flags));
}

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("check the data directory; say what is wrong and what would mend it")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .addOption(buildSettingOption(SETTINGS.ownerWait))
    .option("--accept-loss", "give up positions that are missing at the journal's end")
    .option("--repair", "mend what can be mended without losing acknowledged evidence silently")
    .option("--json", "print one JSON value")
    .action((flags) => {
      const dataDir = parseDataDirectory(flags.dataDir, readEnvironment());
      const settings = {
        reserveBytes: parseDiskReserveBytes(readEnvironment()),
        hasSeeds: areSeedsInUse(parseCredibilityConfig(readEnvironment())),
        tableBytesMax: parseTableBytesMax(readEnvironment()),
        ownerWaitMs: parseOwnerWaitMs(flags.ownerWait, readEnvironment()),
      };
      return commands.runDoctor(dataDir, settings, flags);
    });
}

export function addUpgradeCommand(program: Command): void {
  program
    .command("upgrade")
    .description("what this release would do with a data directory; changes nothing")
    .requiredOption("--check", "compare the formats that are there with those of this release")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .option("--json", "print one JSON value")
    .action((flags) =>
      commands.checkUpgrade(parseDataDirectory(flags.dataDir, readEnvironment()), flags),
    );
}
