// Reports in the name of another tenant's agent, alone and in batches, and claims of grade and stakes
// that nothing proves, against an agent with an honest record.
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import type { AttackStage } from "../stage.ts";

const SUBJECT = "agent://market/honest";
const OWNED = "agent://acme/r";
const RECORD = 260;
const POSTS = 1000;
const POSTS_SHORT = 100;
const POINTS_MAX = 10;
const DAY_MS = 86_400_000;
const LINES = { "content-type": "application/x-ndjson" };

export const forgedReporter: Attack = {
  name: "forged-reporter",
  what: "a tenant reports as another's agent, and praises and slanders at stakes of 10^12, onchain",
  async play(stage) {
    const service = await stage.start("--no-sample");
    const broken: string[] = [];
    const hold = (isHeld: boolean, why: string) => isHeld || broken.push(why);
    await stage.ask(service, "/v1/namespaces/acme", { method: "PUT", body: { tenant: "acme" } });
    await importRecord(stage, service);
    const scopes = ["outcomes:write", "score:read"];
    const stranger = await stage.makeKey(service, "stranger", scopes);
    const gateway = await stage.makeKey(service, "stranger", scopes, { first_party: true });

    let forged = 0;
    for (const key of [stranger, gateway]) {
      for (const status of await forge(stage, service, key)) {
        if (status === 403) forged++;
        else hold(false, `a forged report was answered ${status}`);
      }
    }

    const before = await look(stage, service);
    const posts = stage.isShort ? POSTS_SHORT : POSTS;
    const moved: number[] = [];
    for (const outcome of [0, 1] as const) {
      const liar = await stage.makeKey(service, `liar-${outcome}`, scopes);
      await claim(stage, service, { key: liar, outcome, posts });
      const after = await look(stage, service);
      moved.push(Math.abs(after.score - before.score));
      hold(after.verdict === before.verdict, `L2 went from ${before.verdict} to ${after.verdict}`);
      const grown = after.stakesMax - before.stakesMax;
      hold(grown <= before.stakesMax / 10, `max_stakes grew by ${grown}`);
    }
    const most = Math.max(...moved);
    hold(most <= POINTS_MAX, `one key moved the agent by ${most} points`);
    return { broken, figures: { forged_refused: forged, points_max: most } };
  },
};

const reportOf = (reporter: string, more: object = {}) => ({
  subject: SUBJECT,
  reporter,
  outcome: 1,
  stakes: 50,
  grade: "counterparty",
  ...more,
});

async function importRecord(stage: AttackStage, service: ServerProcess): Promise<void> {
  const now = Date.now();
  const lines = Array.from({ length: RECORD }, (_, i) => {
    const settled_at = now - Math.floor(((RECORD - i) * 60 * DAY_MS) / RECORD);
    const outcome = i % 87 === 50 ? 0 : 1;
    return JSON.stringify(reportOf(`agent://buyers/${i % 30}`, { outcome, settled_at }));
  });
  const body = lines.join("\n");
  const reply = await stage.ask(service, "/v1/outcomes/import", { body, headers: LINES });
  if (reply.status !== 200) throw new Error(`import: ${reply.status} ${reply.text}`);
}

/** Statuses of forged reports: alone, as the item of an array, as that of lines. */
async function forge(stage: AttackStage, service: ServerProcess, key: string): Promise<number[]> {
  const alone = await stage.ask(service, "/v1/outcomes", { key, body: reportOf(OWNED) });
  const array = await stage.ask(service, "/v1/outcomes/batch", { key, body: [reportOf(OWNED)] });
  const body = JSON.stringify(reportOf(OWNED));
  const lines = await stage.ask(service, "/v1/outcomes/batch", { key, body, headers: LINES });
  const items = [array, lines].map(({ text }) => {
    const answer = JSON.parse(text) as { items: { status: number }[] };
    return answer.items[0]!.status;
  });
  return [alone.status, ...items];
}

/** Reports of one key under as many names, each with the best grade and stakes of 10^12. */
async function claim(
  stage: AttackStage,
  service: ServerProcess,
  { key, outcome, posts }: { key: string; outcome: 0 | 1; posts: number },
): Promise<void> {
  const claimed = { outcome, stakes: 1e12, grade: "onchain" };
  const rows = Array.from({ length: posts }, (_, i) => reportOf(`agent://invented/${i}`, claimed));
  const reply = await stage.ask(service, "/v1/outcomes/batch", { key, body: rows });
  if (reply.status !== 200) throw new Error(`batch: ${reply.status} ${reply.text}`);
}

async function look(stage: AttackStage, service: ServerProcess) {
  const question = { action: "order.place", tool_level: "L2", context: {} };
  const body = { agent_id: SUBJECT, ...question };
  const verify = JSON.parse((await stage.ask(service, "/v1/trust/verify", { body })).text) as {
    trust_evaluation: { internal_score: number };
    policy_action: { verdict: string };
  };
  const asked = { body: { subject: SUBJECT, stakes: 1 } };
  const check = JSON.parse((await stage.ask(service, "/v1/check", asked)).text) as {
    max_stakes: number;
  };
  return {
    score: verify.trust_evaluation.internal_score,
    verdict: verify.policy_action.verdict,
    stakesMax: check.max_stakes,
  };
}
