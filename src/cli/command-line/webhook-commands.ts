// Flags of the commands about webhooks.
import { WEBHOOK_EVENTS } from "../../contract/webhooks/events.ts";
import * as commands from "../commands.ts";
import { resolveDataAccess } from "../data-access.ts";
import { type Command, addAccessOptions } from "./flags.ts";

export function addWebhookCommands(program: Command): void {
  const group = program.command("webhooks").description("endpoints that are told of events");
  const command = (usage: string, text: string) =>
    addAccessOptions(group.command(usage)).description(text);
  command("list", "every endpoint, and how it fares").action((flags) =>
    commands.listWebhooks(resolveDataAccess(flags), flags),
  );
  command("add <url>", "register an endpoint; its secret is printed this once")
    .option("--events <events>", `comma-separated, of ${WEBHOOK_EVENTS.join(", ")} (default all)`)
    .option("--tenant <tenant>", "only this tenant's events")
    .option("--description <text>", "a line to remember it by")
    .action((url: string, flags) => commands.addWebhook(resolveDataAccess(flags), url, flags));
  command("remove <id>", "take an endpoint away, with all that waits for it").action(
    (id: string, flags) => commands.removeWebhook(resolveDataAccess(flags), id, flags),
  );
  command("enable <id>", "let a paused endpoint go on where it stopped")
    .option("--skip-backlog", "give up what has waited")
    .action((id: string, flags) => commands.enableWebhook(resolveDataAccess(flags), id, flags));
  command("disable <id>", "tell an endpoint nothing; what happens waits").action(
    (id: string, flags) => commands.disableWebhook(resolveDataAccess(flags), id, flags),
  );
  command("secret <id>", "make another secret; the former one signs beside it for a day").action(
    (id: string, flags) => commands.renewWebhookSecret(resolveDataAccess(flags), id, flags),
  );
  command("test <id>", "send one `webhook.test` now and say what came of it").action(
    (id: string, flags) => commands.testWebhook(resolveDataAccess(flags), id, flags),
  );
  command("dead <id>", "events that were tried for a day in vain")
    .option("--redeliver", "send them again")
    .option("--only <ids>", "with --redeliver: only these, comma-separated")
    .action((id: string, flags) =>
      commands.listWebhookDeadLetters(resolveDataAccess(flags), id, flags),
    );
}
