// A tenant gives its request the id of another tenant's decision, so that what an administrator finds
// of the one is put on record for the other.
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import type { AttackStage } from "../stage.ts";

const ID = "case-4711";
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const WAIT_MS = 20_000;
const WAIT_STEP_MS = 50;

export const requestId: Attack = {
  name: "request-id",
  what: "a tenant reuses the X-Request-Id of another's decision before it is reviewed",
  async play(stage) {
    const broken: string[] = [];
    const hold = (isHeld: boolean, why: string) => isHeld || broken.push(why);
    for (const threads of ["1", "2"]) {
      const service = await stage.start("--no-sample", "--http-threads", threads);
      const victim = await denied(stage, service, "victim");
      const attacker = await denied(stage, service, "attacker");
      for (const { id, echoed } of [victim, attacker]) {
        hold(UUID_V7.test(id), `the answer is named ${id}`);
        hold(echoed === ID, `the header echoes ${String(echoed)}`);
      }
      hold(victim.id !== attacker.id, "both answers have one id");
      for (const { id } of [victim, attacker]) await untilLogged(stage, service, id);
      const reused = await stage.ask(service, `/v1/decisions/${ID}`);
      hold(reused.status === 404, `the reused id was answered ${reused.status}`);
      const path = `/v1/reviews/${victim.id}`;
      const body = { resolution: "upheld", note: "for the victim alone" };
      const reviewed = await stage.ask(service, path, { body });
      hold(reviewed.status === 200, `the review was answered ${reviewed.status}`);
      const theirs = await stage.ask(service, "/v1/reviews", { key: attacker.key });
      hold(!theirs.text.includes("for the victim"), "the review went to the attacker");
      const own = await stage.ask(service, "/v1/reviews", { key: victim.key });
      hold(own.text.includes("for the victim"), "the review did not reach its tenant");
      await service.stop();
    }
    return { broken, figures: { services: 2 } };
  },
};

/** A denial of a tenant that asked under the common id. */
async function denied(stage: AttackStage, service: ServerProcess, tenant: string) {
  const key = await stage.makeKey(service, tenant, ["score:read"]);
  const reply = await stage.ask(service, "/v1/trust/verify", {
    key,
    headers: { "x-request-id": ID },
    body: {
      agent_id: "agent://test/escalate",
      action: "payments.wire",
      tool_level: "L3",
      context: {},
    },
  });
  const { request_id: id } = JSON.parse(reply.text) as { request_id: string };
  return { key, id, echoed: reply.headers["x-request-id"] };
}

async function untilLogged(stage: AttackStage, service: ServerProcess, id: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += WAIT_STEP_MS) {
    const reply = await stage.ask(service, `/v1/decisions/${id}`);
    if (reply.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, WAIT_STEP_MS));
  }
  throw new Error(`the decision ${id} is not in the log`);
}
