// Entry of the `trustrank` command: its commands and flags, and their exit codes. The only user of
// commander; every command itself is a plain function in its own file.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";

import {
  dataDirOf,
  diskReserveOf,
  isTrustNamedIn,
  serveConfigOf,
  tableBytesMaxOf,
} from "../service/config.ts";
import { SETTINGS, type Setting } from "../service/settings.ts";
import { describeSetting, describeVariables } from "../service/settings-text.ts";
import { isAgentId } from "../contract/identifiers.ts";
import { parseSince } from "../contract/parse/parameters.ts";
import { VOUCHED_LEVELS } from "../contract/policy.ts";
import { versionOf } from "../service/identity.ts";
import {
  addEvidence,
  backtestPolicy,
  createKey,
  followExport,
  grantNamespace,
  labelTexts,
  listEvidence,
  listKeys,
  listNamespaces,
  listThresholds,
  revokeEvidence,
  revokeKey,
  revokeNamespace,
  rollBack,
  runCredibility,
  runDoctor,
  runExport,
  runImport,
  runKaizen,
  runMcp,
  runQuery,
  runServe,
  setPolicy,
  showPolicy,
  showRun,
  showStatus,
  transferNamespace,
  unvouch,
  vouch,
} from "./commands.ts";
import { accessOf } from "./data-access.ts";
import { EXIT_USAGE } from "../service/failure.ts";
import { EXPORT_DAYS, IMPORT_FORMATS, QUERY_FORMATS } from "../contract/views.ts";

const MINUTE_MS = 60_000;

function optionOf(setting: Setting & { readonly flag: string }): Option {
  return new Option(setting.flag, describeSetting(setting));
}

/** Flags of every command that works on the data, by file or through a server. */
function withAccess(command: Command): Command {
  return command
    .addOption(optionOf(SETTINGS.dataDir))
    .addOption(optionOf(SETTINGS.url))
    .addOption(optionOf(SETTINGS.key))
    .option("--json", "print one JSON value");
}

function countOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("expected a whole number");
  return Number(text);
}

function namespaceOf(text: string): string {
  if (!isAgentId(`agent://${text}/x`) || text.includes("/")) {
    throw new InvalidArgumentError("expected letters, digits, `.`, `_`, `~` or `-`");
  }
  return text;
}

function addServe(program: Command): void {
  program
    .command("serve")
    .description("run the service")
    .addOption(optionOf(SETTINGS.port))
    .addOption(optionOf(SETTINGS.host))
    .addOption(optionOf(SETTINGS.dataDir))
    .addOption(optionOf(SETTINGS.scoring))
    .addOption(optionOf(SETTINGS.httpThreads))
    .addOption(optionOf(SETTINGS.sample))
    .option("--json", "print one JSON line once it listens")
    .addHelpText("after", `\nEnvironment:\n${describeVariables().join("\n")}`)
    .action((flags) => runServe(serveConfigOf(flags, process.env), flags));
}

function addKeys(program: Command): void {
  const keys = program.command("keys").description("make, list and revoke API keys");
  withAccess(keys.command("create"))
    .description("make a key; its text is printed this once")
    .option("--scopes <scopes>", "comma-separated (default score:read,outcomes:write)")
    .option("--tenant <tenant>", "whose key it is", "operator")
    .option("--shadow", "verdicts are answered but marked as not enforced")
    .option("--first-party", "of your own gateway, market or importer: its reports are vouched for")
    .option("--label <label>", "a name to remember it by")
    .action((flags) => createKey(accessOf(flags), flags));
  withAccess(keys.command("list"))
    .description("every key ever made, without secrets")
    .action((flags) => listKeys(accessOf(flags), flags));
  withAccess(keys.command("revoke"))
    .description("revoke a key at once and for good")
    .argument("<id>", "id of the key")
    .action((id: string, flags) => revokeKey(accessOf(flags), id, flags));
}

function addNamespaces(program: Command): void {
  const group = program.command("namespaces").description("which tenant owns which namespace");
  const add = (usage: string, text: string) => withAccess(group.command(usage)).description(text);
  add("list", "every namespace that has an owner").action((flags) =>
    listNamespaces(accessOf(flags), flags),
  );
  add("grant <namespace>", "make a tenant the owner, or confirm an inherited one")
    .requiredOption("--tenant <tenant>", "the owner")
    .action((name: string, flags) => grantNamespace(accessOf(flags), name, flags));
  add("transfer <namespace>", "give it to another tenant; the former owner's keys retire")
    .requiredOption("--to <tenant>", "the new owner")
    .option("--keep-keys", "the keys go on to sign, as the new owner's")
    .action((name: string, flags) => transferNamespace(accessOf(flags), name, flags));
  add("revoke <namespace>", "take it back; its owner's keys there retire").action(
    (name: string, flags) => revokeNamespace(accessOf(flags), name, flags),
  );
}

function addImport(program: Command): void {
  withAccess(program.command("import"))
    .description("load a history of outcomes through the ledger, signed by the bureau itself")
    .argument("<file>", "the file to read")
    .addOption(
      new Option("--format <format>", "format of the file")
        .choices(IMPORT_FORMATS)
        .default("ndjson"),
    )
    .option("--namespace <name>", "namespace of the numbers in snap-ratings", namespaceOf, "otc")
    .addOption(
      new Option("--rebase <when>", "shift all times; the newest becomes").choices(["now"]),
    )
    .option("--bad-lines-max <count>", "bad lines to skip before giving up", countOf, 100)
    .action((path: string, flags) => {
      const { format, namespace, badLinesMax } = flags;
      const isRebased = flags.rebase === "now";
      const nowMs = Date.now();
      const options = { path, format, namespace, isRebased, nowMs, badLinesMax };
      return runImport(accessOf(flags), options, flags);
    });
}

function addQuery(program: Command): void {
  withAccess(program.command("query"))
    .description("one read-only SELECT over the outcome store")
    .argument("<sql>", "the query")
    .addOption(
      new Option("--format <format>", "how to print rows").choices(QUERY_FORMATS).default("table"),
    )
    .action((sql: string, flags) => runQuery(accessOf(flags), sql, flags));
}

function addEvidenceCommands(program: Command): void {
  const evidence = program
    .command("evidence")
    .description("sources that citations are checked against, and labelled texts");
  withAccess(evidence.command("add"))
    .description("register files, and the text, Markdown, HTML and JSON files of folders")
    .argument("<paths...>", "files and folders")
    .option("--prefix <prefix>", "put before each source id (else the path within the folder)")
    .option("--public", "every tenant may cite them (takes an admin key)")
    .action((paths: string[], flags) => addEvidence(accessOf(flags), paths, flags));
  withAccess(evidence.command("list"))
    .description("the newest sources, without their texts")
    .action((flags) => listEvidence(accessOf(flags), flags));
  withAccess(evidence.command("revoke"))
    .description("revoke a source at once: citing it verifies nothing")
    .argument("<id>", "id of the source")
    .action((id: string, flags) => revokeEvidence(accessOf(flags), id, flags));
  withAccess(evidence.command("label"))
    .description("what people found of texts: calibrates your thresholds")
    .argument("<file>", "JSON lines as in POST /v1/vault/labels")
    .action((file: string, flags) => labelTexts(accessOf(flags), file, flags));
  withAccess(evidence.command("thresholds"))
    .description("where texts of each kind are doubted and called hallucinated")
    .action((flags) => listThresholds(accessOf(flags), flags));
}

function addKaizen(program: Command): void {
  const kaizen = program
    .command("kaizen")
    .description("re-fits of the weights and what they found");
  withAccess(kaizen.command("run"))
    .description("re-fit from settled outcomes; promoted only if every gate passes")
    .option("--dry-run", "test and report, change nothing")
    .option("--holdout-days <days>", "newest days to test on (default 60)", countOf)
    .option("--sign-off", "agree to a structural change beforehand")
    .option("--as-of <time>", "as it would have been then; promotes nothing", timeOf)
    .action((flags) => runKaizen(accessOf(flags), flags));
  withAccess(kaizen.command("status"))
    .description("what is live, and every run")
    .action((flags) => showStatus(accessOf(flags), flags));
  withAccess(kaizen.command("show"))
    .description("one run with its gates")
    .argument("<run>", "id of the run")
    .option("--report <file>", "write its page with plots to this file")
    .action((id: string, flags) => showRun(accessOf(flags), id, flags));
  withAccess(kaizen.command("credibility"))
    .description("weigh reporters anew, from the seeds that TRUSTRANK_SEEDS names")
    .option("--status", "only show what holds now")
    .action((flags) => runCredibility(accessOf(flags), flags));
  withAccess(kaizen.command("rollback"))
    .description("restore the config before the newest promotion")
    .option("--reason <text>", "kept with the run")
    .action((flags) => rollBack(accessOf(flags), flags));
}

function addPolicy(program: Command): void {
  const policy = program.command("policy").description("what verify allows at each tool level");
  const command = (name: string) =>
    withAccess(policy.command(name)).option("--tenant <tenant>", "whose policy", "operator");
  command("show")
    .description("the policy in force")
    .action((flags) => showPolicy(accessOf(flags), flags));
  command("set")
    .description("put another policy in force, at once and without a restart")
    .argument("<file>", "JSON; rules that it leaves out are the shipped ones")
    .action((path: string, flags) => setPolicy(accessOf(flags), path, flags));
  command("vouch")
    .description("let unknown agents of a namespace in on your word, up to L2")
    .argument("<namespace>", "`agent://name/*`")
    .requiredOption("--until <time>", "when the word expires: a date or an RFC 3339 date-time")
    .addOption(new Option("--up-to <level>", "the most sensitive level").choices(VOUCHED_LEVELS))
    .option("--max-stakes <amount>", "stakes up to which the word counts too")
    .action((namespace: string, flags) => vouch(accessOf(flags), namespace, flags));
  command("unvouch")
    .description("take the word back")
    .argument("<namespace>", "as it stands in the policy")
    .action((namespace: string, flags) => unvouch(accessOf(flags), namespace, flags));
  withAccess(policy.command("backtest"))
    .description("try a policy on all outcomes so far, beside the live one; changes nothing")
    .argument("[file]", "JSON as for `set`; left out: the live policy alone")
    .option("--tenant <tenant>", "whose live policy", "operator")
    .option("--from <time>", "outcomes settled from here on", timeOf)
    .option("--to <time>", "outcomes settled before", timeOf)
    .addOption(new Option("--days <n>", "the last days").argParser(countOf).conflicts("from"))
    .option("--unvouched", "count what keys sent that nobody vouches for, too")
    .option("--page <file>", "write the page with plots to this file")
    .action((path: string | undefined, flags) => backtestPolicy(accessOf(flags), path, flags));
}

function addExport(program: Command): void {
  withAccess(program.command("export"))
    .description("every view as Parquet files, one a day where it has days")
    .requiredOption("--to <dir>", "directory to write to; days that exist are replaced")
    .option("--since <time>", "not before: a date or an RFC 3339 date-time", timeOf, 0)
    .addOption(
      new Option("--by <day>", "the day of an outcome: when it was recorded, or settled")
        .choices(EXPORT_DAYS)
        .default("recorded"),
    )
    .option("--follow", "go on, and keep a read-only DuckDB file in the directory fresh")
    .option("--every <minutes>", "with --follow, minutes between two exports", countOf, 5)
    .action((flags) => {
      const request = { to: flags.to, sinceMs: flags.since, by: flags.by };
      if (flags.follow !== true) return runExport(accessOf(flags), request, flags);
      return followExport(accessOf(flags), request, flags.every * MINUTE_MS, flags);
    });
}

function timeOf(text: string): number {
  try {
    return parseSince(text);
  } catch {
    throw new InvalidArgumentError("expected a date or an RFC 3339 date-time");
  }
}

function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("check the data directory; say what is wrong and what would mend it")
    .addOption(optionOf(SETTINGS.dataDir))
    .option("--repair", "mend what can be mended without losing acknowledged evidence silently")
    .option("--json", "print one JSON value")
    .action((flags) => {
      const dataDir = dataDirOf(flags.dataDir, process.env);
      const settings = {
        reserveBytes: diskReserveOf(process.env),
        isTrustNamed: isTrustNamedIn(process.env),
        tableBytesMax: tableBytesMaxOf(process.env),
      };
      return runDoctor(dataDir, settings, flags);
    });
}

function addMcp(program: Command): void {
  program
    .command("mcp")
    .description("offer a running server's questions to MCP clients, over stdin and stdout or HTTP")
    .addOption(optionOf(SETTINGS.dataDir))
    .addOption(optionOf(SETTINGS.url))
    .addOption(optionOf(SETTINGS.key))
    .option("--http <port>", "serve streamable HTTP on this port; callers bring their key", countOf)
    .option("--host <host>", "with --http, the address to listen on", "127.0.0.1")
    .option("--allow-reports", "offer report_outcome too, which writes evidence")
    .action((flags) => runMcp(accessOf(flags), flags));
}

const program = new Command("trustrank")
  .description("The bureau that autonomous agents are checked against.")
  .version(versionOf())
  .exitOverride()
  .showHelpAfterError("(--help shows what there is)");
for (const add of [
  addServe,
  addKeys,
  addNamespaces,
  addImport,
  addEvidenceCommands,
  addQuery,
  addPolicy,
  addExport,
  addKaizen,
  addDoctor,
  addMcp,
])
  add(program);

try {
  await program.parseAsync();
} catch (error) {
  // Commander has printed its own; asking for help is no failure.
  const isUsage = error instanceof CommanderError;
  if (isUsage) process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
  else process.exitCode = (await import("./exit-code.ts")).exitCodeOf(error);
}
