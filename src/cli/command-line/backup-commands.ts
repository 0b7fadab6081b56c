// Flags of the commands that save a data directory and bring it back.
import { readEnvironment } from "../environment.ts";
import { parseDataDirectory } from "../../service/settings/config.ts";
import { SETTINGS } from "../../service/settings/settings.ts";
import * as commands from "../commands.ts";
import { type Command, parseDays, buildSettingOption, parseJournalPoint } from "./flags.ts";

export function addBackupCommand(program: Command): void {
  program
    .command("backup")
    .description("back up what cannot be made again; the service may run. The copy holds secrets")
    .argument("<dir>", "directory of the backup; what it has already is not copied again")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .option("--verify", "copy nothing; check every byte of the backup that is there")
    .option("--json", "print one JSON value")
    .action((target: string, flags) =>
      commands.runBackup(parseDataDirectory(flags.dataDir, readEnvironment()), target, flags),
    );
}

export function addRestoreCommand(program: Command): void {
  program
    .command("restore")
    .description("restore a backup or an archive into an empty data directory")
    .argument("<backup>", "directory of the backup or archive")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .option(
      "--until <point>",
      "end at the last commit up to this position, date or RFC 3339 date-time",
      parseJournalPoint,
    )
    .option("--state <name>", "an earlier state of an archive, as `archive list` names it")
    .option("--new-service-id", "let the first start make another service id")
    .option("--json", "print one JSON value")
    .action((backup: string, flags) =>
      commands.runRestore(backup, parseDataDirectory(flags.dataDir, readEnvironment()), flags),
    );
}

export function addArchiveCommands(program: Command): void {
  const archive = program
    .command("archive")
    .description("earlier states of the archive that a service ships to (`serve --archive`)");
  archive
    .command("list")
    .description("list the states that `restore --state` takes")
    .argument("<dir>", "directory of the archive")
    .option("--json", "print one JSON value")
    .action((root: string, flags) => commands.listArchive(root, flags));
  archive
    .command("prune")
    .description("remove old states and what only they have; the one in force stays")
    .argument("<dir>", "directory of the archive")
    .requiredOption("--keep <days>", "remove those made before so many days (`30d`)", parseDays)
    .option("--json", "print one JSON value")
    .action((root: string, flags) => commands.runArchivePrune(root, flags));
}
