// Demo in under a minute: a good agent's payment passes, a turned agent's is held with its reason, an outcome moves the
// next verdict, and a review lets a held payment through. Starts and removes all it needs.
// Run: npm run demo (`npm run demo -- --fast` does not pause)
import { setTimeout as wait } from "node:timers/promises";
import { openStage, type Stage } from "./stage.ts";

/** Agents of the sample history. */
const GOOD = "agent://acme/ledger-sync";
const TURNED = "agent://globex/price-scout";
const AMOUNT = 250;
/** How long a person may decide in the console before the demo does. */
const REVIEW_WAIT_MS = 10_000;
const POLL_MS = 250;
const DAY_MS = 86_400_000;

const isPaced = process.stdout.isTTY && !process.argv.includes("--fast");
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    process.exitCode = signal === "SIGINT" ? 130 : signal === "SIGTERM" ? 143 : 129;
    interrupted.abort();
  });
}
// A reader that has seen enough (`| head`).
process.stdout.on("error", () => interrupted.abort());
const { signal } = interrupted;
const say = (line = "") => process.stdout.write(`${line}\n`);
const pause = (ms: number) => wait(isPaced ? ms : 0, undefined, { signal });

async function step(title: string): Promise<void> {
  await pause(3000);
  say(`\n${title}`);
}

/** Sends a payment and says what came of it; the reply's headers are the gateway's. */
async function pay(stage: Stage, agent: string): Promise<Headers> {
  const { status, headers } = await stage.pay(agent, AMOUNT);
  const reason = headers.get("x-trust-reason");
  const verdict = status === 200 ? "passed" : `held: ${headers.get("x-trust-verdict")} (${reason})`;
  say(`  POST ${AMOUNT} by ${agent}: ${status}, ${verdict}`);
  say(`  payments that reached the application: ${stage.payments.length}`);
  return headers;
}

/** The numbers of a verdict that a report can move. */
async function readVerdict(stage: Stage, agent: string) {
  const { policy_action, max_stakes } = await stage.client.verify({
    agent_id: agent,
    action: "payments.send",
    tool_level: "L2",
    stakes: AMOUNT,
  });
  const { failure_probability } = await stage.call<{
    failure_probability: { pessimistic: number };
  }>("GET", `/v1/agents/${encodeURIComponent(agent)}`);
  const risk = `${(100 * failure_probability.pessimistic).toFixed(1)} %`;
  const most = max_stakes === null ? "any amount" : `up to ${max_stakes.toFixed(0)}`;
  return `${policy_action.verdict} ${most}, chance of failure at most ${risk}`;
}

async function showTurnedAgent(stage: Stage): Promise<string> {
  await step(
    "2. An agent whose calls have begun to fail tries the same. Its credentials are still valid.",
  );
  const headers = await pay(stage, TURNED);
  const { reasons } = await stage.client.check(TURNED, { stakes: AMOUNT });
  for (const reason of reasons.slice(0, 2)) say(`  why: ${reason}`);
  const review = headers.get("x-trust-review");
  if (review === null) throw new Error("the payment was held without a review");
  return review;
}

async function showOutcome(stage: Stage): Promise<void> {
  await step(
    "3. The first payment is charged back. The gateway reports it, and the next verdict moves.",
  );
  say(`  before: ${await readVerdict(stage, GOOD)}`);
  await stage.call("POST", "/v1/outcomes", {
    subject: GOOD,
    reporter: "agent://demo/payments",
    outcome: 0,
    stakes: AMOUNT,
    grade: "counterparty",
    id: "demo-charge-back",
  });
  say(`  reported: a failed payment of ${AMOUNT}`);
  say(`  after:  ${await readVerdict(stage, GOOD)}`);
}

async function showReview(stage: Stage, review: string): Promise<void> {
  await step(
    "4. The held payment waits for a person. Approve it in the console (the link logs in once):",
  );
  say(`  ${stage.service.console_link}`);
  say("  Reviews, then Approve. In 10 seconds the demo approves it by the API.");
  const route = `/v1/reviews/${encodeURIComponent(review)}`;
  const isOpen = async () => (await stage.call<{ state: string }>("GET", route)).state === "open";
  const endMs = performance.now() + (isPaced ? REVIEW_WAIT_MS : 0);
  while (performance.now() < endMs && (await isOpen())) await pause(POLL_MS);
  if (await isOpen()) {
    const until = new Date(Date.now() + DAY_MS).toISOString();
    const note = "demo: known to us";
    const decision = { decision: "overturned", until, max_stakes: AMOUNT, who: "demo", note };
    await stage.call("POST", `${route}/decision`, decision);
    say(`  approved by the demo itself, for a day and up to ${AMOUNT}`);
  } else say("  decided in the console");
  await pay(stage, TURNED);
}

say(
  "Starting TrustRank with its sample history, an application that takes payments, and a gateway",
);
say("in front of it that asks TrustRank about each one. All of it is gone when this ends.");
let stage: Stage | undefined;
try {
  stage = await openStage(signal);
  const { url, sample, agents } = stage.service;
  say(`  TrustRank at ${url}: ${sample} outcomes of ${agents} agents`);
  await step("1. An agent with a good record sends a payment.");
  await pay(stage, GOOD);
  const review = await showTurnedAgent(stage);
  await showOutcome(stage);
  await showReview(stage, review);
  await step(
    "Done. Next: `npm start`, then docs/start.md, and docs/guide/gateways.md for your gateway.",
  );
} catch (error) {
  if (!signal.aborted) {
    process.exitCode = 1;
    process.stderr.write(`${(error as Error).message}\n`);
  } else say("\nInterrupted: ending.");
} finally {
  await stage?.close();
}
