// Flags of the commands by which people work through the review queue.
import { REVIEW_LIST_STATES } from "../../contract/reviews/book.ts";
import { REVIEW_DECISIONS, REVIEW_LEVELS, type ReviewDecision } from "../../contract/vocabulary.ts";
import * as commands from "../commands.ts";
import { resolveDataAccess } from "../data-access.ts";
import { type Command, parseCount, Option, parseTimeMs, addAccessOptions } from "./flags.ts";

const REVIEWER_FLAG = ["--who <person>", "the person, where several share a key"] as const;

export function addReviewCommands(program: Command): void {
  const group = program
    .command("reviews")
    .description("agents that are held back until a person has looked");
  const add = (usage: string, text: string) =>
    addAccessOptions(group.command(usage)).description(text);
  add("list", "the queue, oldest first")
    .addOption(new Option("--state <state>", "default open").choices(REVIEW_LIST_STATES))
    .addOption(new Option("--level <level>", "of this level").choices(REVIEW_LEVELS))
    .option("--agent <agent>", "of this agent")
    .option("--limit <n>", "at most so many", parseCount)
    .option("--after <cursor>", "go on where the page before ended")
    .action((flags) => commands.listReviews(resolveDataAccess(flags), flags));
  add("show <id>", "one review with all that is known of it").action((id: string, flags) =>
    commands.showReview(resolveDataAccess(flags), id, flags),
  );
  add("claim <id>", "keep others from deciding for a while")
    .option(...REVIEWER_FLAG)
    .option("--lease <seconds>", "for so long (default 900)", parseCount)
    .action((id: string, flags) => commands.claimReview(resolveDataAccess(flags), id, flags));
  add("decide <id>", "overturn or uphold that the agent is held back")
    .addOption(
      new Option("--decision <decision>", "overturned: let through; upheld: blocked")
        .choices(REVIEW_DECISIONS)
        .makeOptionMandatory(),
    )
    .option(
      "--until <time>",
      "when it expires; overturned needs it, upheld holds a day",
      parseTimeMs,
    )
    .option("--max-stakes <amount>", "overturned needs it: up to these stakes, or any")
    .option("--note <text>", "why, for the record")
    .option(...REVIEWER_FLAG)
    .option("--again", "decide a decided review anew")
    .action((id: string, { decision, ...flags }: { decision: ReviewDecision }) =>
      commands.decideReview(resolveDataAccess(flags), id, decision, flags),
    );
}
