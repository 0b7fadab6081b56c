// Flags of the commands that decide who may do what: keys, namespaces, policies, weights.
import { SECRET_OVERLAP_MS } from "../../contract/limits.ts";
import { VOUCHED_LEVELS } from "../../contract/policy.ts";
import * as commands from "../commands.ts";
import { resolveDataAccess } from "../data-access.ts";
import {
  type Command,
  parseCount,
  Option,
  parseReadCount,
  parseOverlapSeconds,
  parseTimeMs,
  addAccessOptions,
} from "./flags.ts";

export function addKeyCommands(program: Command): void {
  const keys = program
    .command("keys")
    .description("make, list, change, rotate and revoke API keys");
  addAccessOptions(keys.command("create"))
    .description("make a key; its text is printed this once")
    .option("--scopes <scopes>", "comma-separated (default score:read,outcomes:write)")
    .option("--tenant <tenant>", "whose key it is", "operator")
    .option("--shadow", "verdicts are answered but marked as not enforced")
    .option("--first-party", "of your own gateway, market or importer: its reports are vouched for")
    .option("--asserts-properties", "properties in its requests may lower the level of an action")
    .option("--label <label>", "a name to remember it by")
    .option("--query-seconds <seconds>", "longest work of one query of SQL", parseCount)
    .action((flags) => commands.createKey(resolveDataAccess(flags), flags));
  addAccessOptions(keys.command("list"))
    .description("every key ever made, without secrets")
    .action((flags) => commands.listKeys(resolveDataAccess(flags), flags));
  addAccessOptions(keys.command("set"))
    .description("change what a key is and may do; what no flag names stays")
    .argument("<id>", "id of the key")
    .option("--label <label>", "another name")
    .option("--no-label", "no name")
    .option("--scopes <scopes>", "comma-separated; those left out are taken away")
    .option("--expires <time>", "when it ends: a date or an RFC 3339 date-time", parseTimeMs)
    .option("--no-expires", "it never ends")
    .option("--minimums <scores>", "minimum scores by level, such as L2=600,L3=700")
    .option("--query-seconds <seconds>", "longest work of one query of SQL", parseCount)
    .option("--no-query-seconds", "no limit of its own")
    .action((id: string, flags) => commands.setKey(resolveDataAccess(flags), id, flags));
  addAccessOptions(keys.command("rotate"))
    .description("give a key a new secret; its text is printed this once")
    .argument("<id>", "id of the key")
    .addOption(
      new Option("--overlap <time>", "how long the present secret works on; 0: it ends")
        .argParser(parseOverlapSeconds)
        .default(SECRET_OVERLAP_MS / 1000, "1h"),
    )
    .action((id: string, flags) => commands.rotateKey(resolveDataAccess(flags), id, flags));
  addAccessOptions(keys.command("rotate-signing"))
    .description("let another key sign the journal and the vault's roots from now on")
    .action((flags) => commands.rotateSigningKey(resolveDataAccess(flags), flags));
  addAccessOptions(keys.command("revoke"))
    .description("revoke a key at once and for good")
    .argument("<id>", "id of the key")
    .action((id: string, flags) => commands.revokeKey(resolveDataAccess(flags), id, flags));
}

export function addNamespaceCommands(program: Command): void {
  const group = program.command("namespaces").description("which tenant owns which namespace");
  const add = (usage: string, text: string) =>
    addAccessOptions(group.command(usage)).description(text);
  add("list", "every namespace that has an owner").action((flags) =>
    commands.listNamespaces(resolveDataAccess(flags), flags),
  );
  add("grant <namespace>", "make a tenant the owner, or confirm an inherited one")
    .requiredOption("--tenant <tenant>", "the owner")
    .option("--vouched", "each reporter that signs there is a voice of its own")
    .option("--no-vouched", "all of them are one voice, their owner's (at first)")
    .option("--mediator", "its keys attest transactions between other owners")
    .option("--no-mediator", "they do not (at first)")
    .action((name: string, flags) =>
      commands.grantNamespace(resolveDataAccess(flags), name, flags),
    );
  add("transfer <namespace>", "give it to another tenant; the former owner's keys retire")
    .requiredOption("--to <tenant>", "the new owner")
    .option("--keep-keys", "the keys go on to sign, as the new owner's")
    .action((name: string, flags) =>
      commands.transferNamespace(resolveDataAccess(flags), name, flags),
    );
  add("revoke <namespace>", "take it back; its owner's keys there retire")
    .option(
      "--discount-since <time>",
      "what was signed there since then counts no more",
      parseTimeMs,
    )
    .action((name: string, flags) =>
      commands.revokeNamespace(resolveDataAccess(flags), name, flags),
    );
}

export function addQuotaCommands(program: Command): void {
  const quotas = program.command("quotas").description("what a tenant may read in a month");
  addAccessOptions(quotas.command("list"))
    .description("every tenant that has a quota; by a server with what is used of it")
    .action((flags) => commands.listQuotas(resolveDataAccess(flags), flags));
  addAccessOptions(quotas.command("set"))
    .description("set a tenant's quota, for this month too")
    .argument("<tenant>", "whose reads")
    .requiredOption("--reads <count>", "paid reads a month, UTC", parseReadCount)
    .action((tenant: string, flags) => commands.setQuota(resolveDataAccess(flags), tenant, flags));
  addAccessOptions(quotas.command("remove"))
    .description("take a tenant's quota away: its reads are counted and not limited")
    .argument("<tenant>", "whose")
    .action((tenant: string, flags) =>
      commands.removeQuota(resolveDataAccess(flags), tenant, flags),
    );
}

export function addPolicyCommands(program: Command): void {
  const policy = program.command("policy").description("what verify allows at each tool level");
  const command = (name: string) =>
    addAccessOptions(policy.command(name)).option("--tenant <tenant>", "whose policy", "operator");
  command("show")
    .description("the policy in force")
    .action((flags) => commands.showPolicy(resolveDataAccess(flags), flags));
  command("set")
    .description("put another policy in force, at once and without a restart")
    .argument("<file>", "JSON; rules that it leaves out are the shipped ones")
    .action((path: string, flags) => commands.setPolicy(resolveDataAccess(flags), path, flags));
  command("vouch")
    .description("let unknown agents of a namespace in on your word, up to L2")
    .argument("<namespace>", "`agent://name/*`")
    .requiredOption("--until <time>", "when the word expires: a date or an RFC 3339 date-time")
    .addOption(new Option("--up-to <level>", "the most sensitive level").choices(VOUCHED_LEVELS))
    .option("--max-stakes <amount>", "stakes up to which the word counts too")
    .action((namespace: string, flags) =>
      commands.vouch(resolveDataAccess(flags), namespace, flags),
    );
  command("unvouch")
    .description("take the word back")
    .argument("<namespace>", "as it stands in the policy")
    .action((namespace: string, flags) =>
      commands.unvouch(resolveDataAccess(flags), namespace, flags),
    );
  addAccessOptions(policy.command("test"))
    .description(
      "run cases of a policy in this process; exit code 1 where one fails, 2 for bad input",
    )
    .argument("[path]", "a folder of `*.cases.yaml` and `*.cases.json`, or one file")
    .option("--policy <file>", "policy of all cases, in the place of those that their files name")
    .option("--diff <file>", "candidate: show which logged verdicts it would change")
    .option("--last <count>", "newest verifies that the candidate is tried on", parseCount, 10_000)
    .option("--tenant <tenant>", "decisions of this tenant alone")
    .option("--junit <file>", "write the results as JUnit XML")
    .action((path: string | undefined, flags) =>
      commands.testPolicy(resolveDataAccess(flags), path, flags),
    );
  addAccessOptions(policy.command("backtest"))
    .description("try a policy on all outcomes so far, beside the live one; changes nothing")
    .argument("[file]", "JSON as for `set`; left out: the live policy alone")
    .option("--tenant <tenant>", "whose live policy", "operator")
    .option("--from <time>", "outcomes settled from here on", parseTimeMs)
    .option("--to <time>", "outcomes settled before", parseTimeMs)
    .addOption(new Option("--days <n>", "the last days").argParser(parseCount).conflicts("from"))
    .option("--unvouched", "count what keys sent that nobody vouches for, too")
    .option("--page <file>", "write the page with plots to this file")
    .action((path: string | undefined, flags) =>
      commands.backtestPolicy(resolveDataAccess(flags), path, flags),
    );
}

export function addKaizenCommands(program: Command): void {
  const kaizen = program
    .command("kaizen")
    .description("re-fits of the weights and what they found");
  addAccessOptions(kaizen.command("run"))
    .description("re-fit from settled outcomes; promoted only if every gate passes")
    .option("--dry-run", "test and report, change nothing")
    .option("--holdout-days <days>", "newest days to test on (default 60)", parseCount)
    .option("--sign-off", "agree to a structural change beforehand")
    .option("--as-of <time>", "as it would have been then; promotes nothing", parseTimeMs)
    .action((flags) => commands.runKaizen(resolveDataAccess(flags), flags));
  addAccessOptions(kaizen.command("status"))
    .description("what is live, and every run")
    .action((flags) => commands.showKaizenStatus(resolveDataAccess(flags), flags));
  addAccessOptions(kaizen.command("show"))
    .description("one run with its gates")
    .argument("<run>", "id of the run")
    .option("--report <file>", "write its page with plots to this file")
    .action((id: string, flags) => commands.showRun(resolveDataAccess(flags), id, flags));
  addAccessOptions(kaizen.command("credibility"))
    .description("weigh reporters anew, from the seeds that TRUSTRANK_SEEDS names")
    .option("--status", "only show what holds now")
    .action((flags) => commands.runCredibility(resolveDataAccess(flags), flags));
  addAccessOptions(kaizen.command("promote"))
    .description("make the weights live that a finished dry run has tested")
    .argument("<run>", "id of the run")
    .requiredOption("--reason <text>", "kept with the run")
    .action((id: string, flags) => commands.promoteRun(resolveDataAccess(flags), id, flags));
  addAccessOptions(kaizen.command("rollback"))
    .description("restore the config before the newest promotion")
    .option("--reason <text>", "kept with the run")
    .action((flags) => commands.rollBackKaizen(resolveDataAccess(flags), flags));
}
