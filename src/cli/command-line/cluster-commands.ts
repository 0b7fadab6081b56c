// Flags of the commands about a cluster.
import { SETTINGS } from "../../service/settings/settings.ts";
import { resolveDataAccess } from "../data-access.ts";
import * as commands from "../commands.ts";
import { type Command, buildSettingOption } from "./flags.ts";

export function addClusterCommands(program: Command): void {
  const cluster = program.command("cluster").description("the log that several nodes share");
  cluster
    .command("status")
    .description(
      "show log and nodes, and whether their journals agree; exits with 1 if not all is well",
    )
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.cluster))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .option("--json", "print one JSON value")
    .action((flags) => commands.showClusterStatus(resolveDataAccess(flags).dataDir, flags));
  cluster
    .command("restore")
    .description(
      "begin the log anew behind the longest of the nodes' journals; all nodes are stopped",
    )
    .argument(
      "<dirs...>",
      "data directories of the nodes, or of one whose history begins a cluster",
    )
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.cluster))
    .option("--json", "print one JSON value")
    .action((dirs: string[], flags) => commands.restoreCluster(dirs, flags));
  cluster
    .command("bootstrap")
    .description("copy the journal of a node that runs, for a new node; not while that one runs")
    .requiredOption("--from <url>", "base URL of a node of the cluster")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .addOption(buildSettingOption(SETTINGS.key))
    .option("--json", "print one JSON value")
    .action((flags) => commands.bootstrapNode(resolveDataAccess(flags), flags));
  cluster
    .command("trim")
    .description("remove from the log what every node has in its journal")
    .option("--keep <messages>", "messages that stay behind the slowest node, from 1000")
    .option("--without <nodes>", "nodes that are gone for good, with commas: nobody waits for them")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.cluster))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .option("--json", "print one JSON value")
    .action((flags) => commands.trimClusterLog(resolveDataAccess(flags).dataDir, flags));
  addUpgradeCommands(cluster);
  cluster
    .command("repair")
    .description("fetch damaged segments of this node's journal from nodes that have them whole")
    .requiredOption("--from <urls>", "base URLs of other nodes, with commas, asked in this order")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .addOption(buildSettingOption(SETTINGS.key))
    .option("--json", "print one JSON value")
    .action((flags) => commands.repairNode(resolveDataAccess(flags), flags));
}

function addUpgradeCommands(cluster: Command): void {
  cluster
    .command("upgrade")
    .description("steps of an upgrade that concern all nodes")
    .command("finish")
    .description("let the log take sealed messages only, once every node runs this release")
    .option("--without <nodes>", "nodes that are gone for good, with commas: nobody waits for them")
    .addOption(buildSettingOption(SETTINGS.config))
    .addOption(buildSettingOption(SETTINGS.cluster))
    .addOption(buildSettingOption(SETTINGS.dataDir))
    .option("--json", "print one JSON value")
    .action((flags) => commands.finishClusterUpgrade(resolveDataAccess(flags).dataDir, flags));
}
