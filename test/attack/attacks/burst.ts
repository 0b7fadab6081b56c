// An agent that scores well is taken over, and does within seconds what it never did; somebody else's key asks the
// same of it hundreds of times; and a large sum goes out in slices, also through a client that keeps verdicts.
import { series, Stage } from "../../../bench/attack-stage.ts";
import { ADMIN_KEY, type ServerProcess } from "../../../bench/server-process.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateway } from "../../../src/client/gateway/gateway.ts";
import type { Attack } from "../attack.ts";
import type { AttackStage } from "../stage.ts";

const AGENT = "agent://acme/treasurer";
const REGULAR = "agent://acme/clerk";
const CALLS = 400;
/** Calls by which the burst must have been stopped. */
const STOPPED_BY = 50;
const REGULAR_CALLS = 1000;
const REGULAR_ACTIONS = 12;
const SLICES = 200;
const SLICE = 8;

async function open(stage: AttackStage): Promise<ServerProcess> {
  const service = await stage.start("--no-sample");
  const bureau = new Stage(service);
  await bureau.open();
  const reporter = (at: number) => `agent://buyers/b-${at % 40}`;
  for (const agent of [AGENT, REGULAR])
    await bureau.import(series(agent, 400, { days: 120, reporter }));
  return service;
}

async function verify(stage: AttackStage, service: ServerProcess, more: object, key?: string) {
  const body = { agent_id: AGENT, action: "a.b", tool_level: "L3", context: {}, ...more };
  const asking = key === undefined ? { body } : { body, key };
  const { status, text } = await stage.ask(service, "/v1/trust/verify", asking);
  if (status !== 200) throw new Error(`verify was answered ${status} ${text}`);
  const { policy_action: said } = JSON.parse(text) as {
    policy_action: { verdict: string; log_reason: string };
  };
  return said;
}

export const burst: Attack = {
  name: "burst",
  what: "an agent of good record makes 400 critical calls of 400 actions within seconds",
  async play(stage) {
    const service = await open(stage);
    const broken: string[] = [];
    const first = await verify(stage, service, { reserve: false });
    if (first.verdict !== "ALLOW")
      broken.push(`the agent is not trusted at all: ${first.log_reason}`);
    let allowed = 0;
    for (let i = 0; i < CALLS; i += 1) {
      const { verdict } = await verify(stage, service, { action: `wire.to_${i}` });
      if (verdict === "ALLOW") allowed += 1;
    }
    if (allowed >= STOPPED_BY) broken.push(`${allowed} calls of the burst were allowed`);
    let regular = 0;
    for (let i = 0; i < REGULAR_CALLS; i += 1) {
      const action = `orders.step_${i % REGULAR_ACTIONS}`;
      const { verdict } = await verify(stage, service, { agent_id: REGULAR, action });
      if (verdict !== "ALLOW") regular += 1;
    }
    if (regular > 0) broken.push(`${regular} calls of an agent that does what it always did`);
    await service.stop();
    return { broken, figures: { burst_allowed: allowed, regular_challenged: regular } };
  },
};

export const rival: Attack = {
  name: "rival",
  what: "a stranger's key asks 400 questions about another tenant's agent, with stakes and new actions",
  async play(stage) {
    const service = await open(stage);
    const key = await stage.makeKey(service, "rival", ["score:read"]);
    const ask = async () => {
      const silent = await verify(stage, service, { reserve: false });
      const body = { subject: AGENT, stakes: SLICE, reserve: false };
      const { decision, max_stakes: bound } = JSON.parse(
        (await stage.ask(service, "/v1/check", { body })).text,
      ) as { decision: string; max_stakes: number };
      // It falls by itself as the record grows older: by far less than one slice.
      return JSON.stringify([silent, decision, Math.round(bound)]);
    };
    const before = await ask();
    for (let i = 0; i < CALLS; i += 1) {
      await verify(stage, service, { action: `probe.n_${i}`, stakes: SLICE }, key);
    }
    const after = await ask();
    await service.stop();
    const broken = before === after ? [] : [`${before} became ${after}`];
    return { broken, figures: { questions: CALLS } };
  },
};

export const slices: Attack = {
  name: "slices",
  what: "one large sum goes out in 200 calls of 8 within a minute, also through a client's cache",
  async play(stage) {
    const service = await open(stage);
    const whole = await askWhole(stage, service);
    const bound = whole.max_stakes + SLICE;
    const broken: string[] = [];
    if (whole.decision === "connect") broken.push("one call of the sum connects: nothing to slice");
    const client = new TrustRankClient({ baseUrl: service.url, apiKey: ADMIN_KEY, cache: {} });
    let connected = 0;
    for (let i = 0; i < SLICES; i += 1) {
      const { decision } = await client.check(AGENT, { stakes: SLICE });
      if (decision === "connect") connected += SLICE;
    }
    if (connected > bound)
      broken.push(`check connected ${connected}, one call ${whole.max_stakes}`);
    const gateway = new TrustGateway({ client });
    let passed = 0;
    const agentId = REGULAR;
    for (let i = 0; i < SLICES; i += 1) {
      const asked = { agentId, action: "wire.send", toolLevel: "L3", stakes: SLICE } as const;
      if ((await gateway.authorize(asked)).allowed) passed += SLICE;
    }
    gateway.close();
    if (passed > bound) broken.push(`the gateway passed ${passed}, one call ${whole.max_stakes}`);
    await service.stop();
    return { broken, figures: { connected, passed, one_call_max: whole.max_stakes } };
  },
};

/** What one call of the whole sum gets, and the largest stakes of one call that connects. */
async function askWhole(stage: AttackStage, service: ServerProcess) {
  const look = async (stakes: number) => {
    const body = { subject: AGENT, stakes, reserve: false };
    const { text } = await stage.ask(service, "/v1/check", { body });
    return JSON.parse(text) as { decision: string; max_stakes: number };
  };
  const { decision } = await look(SLICES * SLICE);
  const { max_stakes } = await look(SLICE);
  return { decision, max_stakes };
}
