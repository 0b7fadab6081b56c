// Flags of the commands about a cluster.
import { SETTINGS } from "../../service/settings/settings.ts";
import * as commands from "../commands.ts";
import { type Command, optionOf } from "./flags.ts";

export function addCluster(program: Command): void {
  const cluster = program.command("cluster").description("the log that several nodes share");
  cluster
    .command("status")
    .description(
      "show log and nodes, and whether their journals agree; exits with 1 if not all is well",
    )
    .addOption(optionOf(SETTINGS.config))
    .addOption(optionOf(SETTINGS.cluster))
    .option("--json", "print one JSON value")
    .action((flags) => commands.showClusterStatus(flags));
}
