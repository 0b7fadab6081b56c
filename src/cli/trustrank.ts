// Entry of the `trustrank` command: its commands, and their exit codes. Every command itself is a plain
// function in its own file.
import { loadEnvironment } from "./environment.ts";
import { EXIT_USAGE } from "../service/failure.ts";
import { readPackageVersion } from "../service/identity.ts";
import { SETTINGS } from "../service/settings/settings.ts";
import { describeVariables } from "../service/settings/settings-text.ts";
import {
  addArchiveCommands,
  addBackupCommand,
  addRestoreCommand,
} from "./command-line/backup-commands.ts";
import { addClusterCommands } from "./command-line/cluster-commands.ts";
import {
  addDoctorCommand,
  addUpgradeCommand,
  addEvidenceCommands,
  addExportCommand,
  addImportCommand,
  addQueryCommand,
  addScoresCommand,
  addUsageCommand,
} from "./command-line/data-commands.ts";
import { Command, CommanderError, parseCount, buildSettingOption } from "./command-line/flags.ts";
import { addConditionCommands } from "./command-line/condition-commands.ts";
import { addReviewCommands } from "./command-line/review-commands.ts";
import {
  addKaizenCommands,
  addKeyCommands,
  addNamespaceCommands,
  addPolicyCommands,
  addQuotaCommands,
} from "./command-line/rule-commands.ts";
import { addWebhookCommands } from "./command-line/webhook-commands.ts";
import { checkConfig, runMcp, runServe } from "./commands.ts";
import { resolveDataAccess } from "./data-access.ts";

function addServeCommand(program: Command): void {
  program
    .command("serve")
    .description("run the service")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.port))
    .addOption(buildSettingOption(SETTINGS.host))
    .addOption(buildSettingOption(SETTINGS.listen))
    .addOption(buildSettingOption(SETTINGS.socketMode))
    .addOption(buildSettingOption(SETTINGS.socketGroup))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .addOption(buildSettingOption(SETTINGS.ownerWait))
    .addOption(buildSettingOption(SETTINGS.archive))
    .addOption(buildSettingOption(SETTINGS.archiveEvery))
    .addOption(buildSettingOption(SETTINGS.cluster))
    .addOption(buildSettingOption(SETTINGS.clusterNode))
    .addOption(buildSettingOption(SETTINGS.scoring))
    .addOption(buildSettingOption(SETTINGS.httpThreads))
    .addOption(buildSettingOption(SETTINGS.metricsListen))
    .addOption(buildSettingOption(SETTINGS.grpcPort))
    .addOption(buildSettingOption(SETTINGS.logLevel))
    .addOption(buildSettingOption(SETTINGS.logFormat))
    .addOption(buildSettingOption(SETTINGS.accessLog))
    .addOption(buildSettingOption(SETTINGS.console))
    .addOption(buildSettingOption(SETTINGS.unitOfAccount))
    .addOption(buildSettingOption(SETTINGS.kaizenEvidence))
    .addOption(buildSettingOption(SETTINGS.sample))
    .option("--json", "print one JSON line once it listens")
    .option(
      "--accept-loss",
      "go on where the journal ends, although more is known to have been there",
    )
    .addHelpText("after", `\nEnvironment:\n${describeVariables().join("\n")}`)
    .action((flags) => runServe(flags));
}

function addConfigCommand(program: Command): void {
  program
    .command("config")
    .description("settings of this service")
    .command("check")
    .description("check all settings; print each with its value and where it comes from")
    .argument("[file]", "file of settings (default TRUSTRANK_CONFIG)")
    .option("--json", "print one JSON value")
    .action((file: string | undefined, flags) => checkConfig(file, flags));
}

function addMcpCommand(program: Command): void {
  program
    .command("mcp")
    .description("offer a running server's questions to MCP clients, over stdin and stdout or HTTP")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .addOption(buildSettingOption(SETTINGS.url))
    .addOption(buildSettingOption(SETTINGS.key))
    .option(
      "--http <port>",
      "serve streamable HTTP on this port; callers bring their key",
      parseCount,
    )
    .option("--host <host>", "with --http, the address to listen on", "127.0.0.1")
    .option("--allow-reports", "offer report_outcome too, which writes evidence")
    .action((flags) => runMcp(resolveDataAccess(flags), flags));
}

const program = new Command("trustrank")
  .description("The bureau that autonomous agents are checked against.")
  .version(readPackageVersion())
  .exitOverride()
  .showHelpAfterError("(--help shows what there is)")
  .hook("preAction", async (_, command) => {
    // `serve` does so itself: what is wrong there is told in the form of its log.
    if (command.name() !== "serve")
      await loadEnvironment(command.opts<{ config?: string }>().config);
  });
for (const add of [
  addServeCommand,
  addKeyCommands,
  addNamespaceCommands,
  addWebhookCommands,
  addImportCommand,
  addEvidenceCommands,
  addQueryCommand,
  addScoresCommand,
  addPolicyCommands,
  addReviewCommands,
  addConditionCommands,
  addExportCommand,
  addUsageCommand,
  addQuotaCommands,
  addKaizenCommands,
  addDoctorCommand,
  addUpgradeCommand,
  addBackupCommand,
  addRestoreCommand,
  addArchiveCommands,
  addClusterCommands,
  addConfigCommand,
  addMcpCommand,
])
  add(program);

try {
  await program.parseAsync();
} catch (error) {
  // Commander has printed its own; asking for help is no failure.
  const isUsage = error instanceof CommanderError;
  if (isUsage) process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
  else process.exitCode = (await import("./failure-report.ts")).reportFailure(error);
}
