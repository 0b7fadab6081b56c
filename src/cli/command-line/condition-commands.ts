// Flags of the commands by which operators suspend, watch and clear agents, and stop all of them.
import { CONDITION_STATES } from "../../contract/conditions/events.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import * as commands from "../commands.ts";
import { resolveDataAccess } from "../data-access.ts";
import { type Command, parseCount, Option, parseTimeMs, addAccessOptions } from "./flags.ts";

export function addConditionCommands(program: Command): void {
  const group = program
    .command("conditions")
    .description("agents and namespaces that an operator has suspended, watches or has cleared");
  const add = (usage: string, text: string) =>
    addAccessOptions(group.command(usage)).description(text);
  addWordOptions(add("set <subject> <state>", `set one: ${CONDITION_STATES.join(", ")}`))
    .option("--levels <levels>", "comma-separated tool levels (default all)")
    .option("--max-stakes <amount>", "of cleared: up to these stakes")
    .action((subject: string, state: string, flags) =>
      commands.setCondition(resolveDataAccess(flags), subject, state, flags),
    );
  addOwnerOptions(add("clear <subject>", "take a condition away")).action(
    (subject: string, flags) => commands.clearCondition(resolveDataAccess(flags), subject, flags),
  );
  add("list", "those in force, by subject")
    .addOption(new Option("--state <state>", "of this state").choices(CONDITION_STATES))
    .option("--agent <agent>", "that cover this agent")
    .option("--limit <n>", "at most so many", parseCount)
    .option("--after <cursor>", "go on where the page before ended")
    .action((flags) => commands.listConditions(resolveDataAccess(flags), flags));
  addOwnerOptions(add("import <file>", "set up to 1,000 from a JSON or CSV file")).action(
    (file: string, flags) => commands.importConditions(resolveDataAccess(flags), file, flags),
  );
  const stop = addAccessOptions(program.command("stop"))
    .description("stop all agents, those above a level, or let them go on")
    .addOption(
      new Option("--above <level>", "the highest level that is not stopped").choices(TOOL_LEVELS),
    )
    .option("--lift", "lift the stop");
  addWordOptions(stop, false).action((flags) =>
    commands.stopAgents(resolveDataAccess(flags), flags),
  );
}

function addOwnerOptions(command: Command): Command {
  return command
    .option("--bureau", "for all tenants")
    .option("--tenant <tenant>", "for another tenant than the key's");
}

function addWordOptions(command: Command, isReasonRequired = true): Command {
  const reason = new Option("--reason <code>", "why, as a code: fraud");
  return addOwnerOptions(command)
    .addOption(isReasonRequired ? reason.makeOptionMandatory() : reason)
    .option("--text <text>", "why, for people")
    .option("--case <case>", "number or address of its case")
    .option("--until <time>", "when it ends; cleared needs it", parseTimeMs);
}
