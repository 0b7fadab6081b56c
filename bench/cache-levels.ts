// Part of bench -- cache: paid reads of TrustGateway.authorize for agents whose tools are of four levels,
// without and with the background refresh. Virtual time for the clock and the timers alike.
import { TrustRankClient } from "../src/client/client.ts";
import { TrustGateway } from "../src/client/gateway/gateway.ts";
import type { LevelVerdict, VerifyRequest, VerifyResponse } from "../src/client/messages.ts";
import {
  type LogReason,
  TOOL_LEVELS,
  type ToolLevel,
  type Verdict,
} from "../src/contract/vocabulary.ts";

/** One workload of a gateway in front of tools of all levels. */
export interface LevelWorkload {
  readonly agents: number;
  readonly requestsPerSec: number;
  readonly minutes: number;
  readonly ttlMs: number;
  readonly hasRefresh: boolean;
  /** Index of the next request's agent. */
  readonly drawAgent: () => number;
  readonly random: () => number;
}

/** Share of requests by tool level, cumulative; L2 and L3 put up to 1,000 at stake. */
const MIX: readonly (readonly [ToolLevel, number])[] = [
  ["L0", 0.4],
  ["L1", 0.8],
  ["L2", 0.95],
  ["L3", 1],
];
const STAKES_MAX = 1000;

interface Ruling {
  readonly verdict: Verdict;
  readonly label: LogReason;
  readonly isOnRecord: boolean;
  readonly holds: readonly [number, number | null];
}

/** One agent in fifty is refused, one in ten is new, the others are proven up to some stakes. */
function ruleOf(agent: number, level: ToolLevel, stakes: number): Ruling {
  const isOpen = level === "L0" || level === "L1";
  const rule = (verdict: Verdict, label: LogReason, isOnRecord = false): Ruling => ({
    verdict,
    label,
    isOnRecord,
    holds: [0, null],
  });
  if (agent % 50 === 49) {
    return isOpen
      ? rule("ALLOW", "DENIAL_FLAGGED_FOR_REVIEW", true)
      : rule("BLOCK", "REFUSE_RULE", true);
  }
  if (agent % 10 === 3)
    return isOpen ? rule("ALLOW", "THIN_FILE_TOLERATED") : rule("CHALLENGE", "THIN_FILE");
  if (isOpen) return rule("ALLOW", "TRUST_SUFFICIENT");
  const proven = 10 ** (1 + (((agent * 2_654_435_761) >>> 0) / 4_294_967_296) * 5);
  return stakes <= proven
    ? { ...rule("ALLOW", "TRUST_SUFFICIENT"), holds: [0, proven] }
    : { ...rule("CHALLENGE", "STAKES_NEED_VERIFICATION"), holds: [stakes, null] };
}

const agentOf = (id: string) => Number(id.slice(id.lastIndexOf("/") + 1));

function levelOf(agent: number, level: ToolLevel, stakes: number): LevelVerdict {
  const { verdict, label, holds } = ruleOf(agent, level, stakes);
  return {
    verdict,
    log_reason: label,
    threshold_met: verdict === "ALLOW",
    reason_codes: [],
    max_stakes: verdict === "ALLOW" ? holds[1] : 0,
    enforced: true,
    holds_from: holds[0],
    holds_to: holds[1],
  };
}

/** A verify as the simulated service answers it. */
export function replyTo({ agent_id, tool_level: asked, stakes = 0, levels }: VerifyRequest) {
  const agent = agentOf(agent_id);
  const own = levelOf(agent, asked, stakes);
  const reply: VerifyResponse = {
    request_id: "r",
    trust_evaluation: {
      score: 60,
      threshold_met: own.threshold_met,
      risk_level: "LOW",
      internal_score: 630,
      tier: "B",
      confidence: 0.9,
    },
    provenance_data: { is_hallucinated: false, source_verified: true, reason: "no sources" },
    policy_action: { verdict: own.verdict, log_reason: own.log_reason },
    reason_codes: [],
    max_stakes: own.max_stakes,
    enforced: true,
    config_version: "c",
    policy_version: "p",
    evaluated_at: "2026-01-01T00:00:00.000Z",
    expires_at: "2026-01-01T00:05:00.000Z",
  };
  if (levels !== true) return reply;
  const told = TOOL_LEVELS.filter(
    (level) => level === asked || !ruleOf(agent, level, stakes).isOnRecord,
  );
  const entries = told.map((level) => [level, levelOf(agent, level, stakes)]);
  return { ...reply, levels: Object.fromEntries(entries) as VerifyResponse["levels"] };
}

const fetchReply = async (url: string, init: RequestInit): Promise<Response> => {
  const body = JSON.parse(init.body as string) as VerifyRequest & { items: VerifyRequest[] };
  if (!url.endsWith("/batch")) return Response.json(replyTo(body));
  return Response.json({
    items: body.items.map((item) => ({ status: 200, result: replyTo(item) })),
  });
};

/** Timers that run when the virtual clock passes them. */
class VirtualTimers {
  readonly #timers = new Map<number, { dueMs: number; run: () => void }>();
  readonly #real = { set: globalThis.setTimeout, clear: globalThis.clearTimeout };
  #next = 1;
  nowMs = 0;

  install(): void {
    const set = (run: () => void, ms = 0) => {
      this.#timers.set(this.#next, { dueMs: this.nowMs + ms, run });
      return this.#next++;
    };
    globalThis.setTimeout = set as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((id: number) => this.#timers.delete(id)) as typeof clearTimeout;
  }

  remove(): void {
    globalThis.setTimeout = this.#real.set;
    globalThis.clearTimeout = this.#real.clear;
  }

  /** Moves the clock; true when a timer has run. */
  advance(nowMs: number): boolean {
    this.nowMs = nowMs;
    let hasRun = false;
    for (const [id, { dueMs, run }] of this.#timers) {
      if (dueMs > nowMs) continue;
      this.#timers.delete(id);
      run();
      hasRun = true;
    }
    return hasRun;
  }
}

const turn = () => new Promise((done) => setImmediate(done));
const rounded = (value: number) => Math.round(1000 * value) / 1000;

/** Paid reads and waiting requests of one workload; every answer is compared with the service's. */
export async function levelRates(
  workload: LevelWorkload,
): Promise<Record<string, number | boolean>> {
  const { agents, requestsPerSec, minutes, ttlMs, hasRefresh, drawAgent, random } = workload;
  const timers = new VirtualTimers();
  timers.install();
  const gateway = new TrustGateway({
    follow: false,
    client: new TrustRankClient({ baseUrl: "http://bench", fetch: fetchReply, timeoutMs: 60_000 }),
    cache: { entriesMax: agents, ttlMs },
    refresh: hasRefresh && { agentsMax: agents, batchMax: 1000 },
    monotonic: () => timers.nowMs,
  });
  const requests = Math.round(requestsPerSec * 60 * minutes);
  let wrong = 0;
  for (let index = 0; index < requests; index += 1) {
    if (timers.advance((index / requestsPerSec) * 1000)) await turn();
    const agent = drawAgent();
    const share = random();
    const [toolLevel] = MIX.find(([, upTo]) => share < upTo)!;
    const stakes = toolLevel >= "L2" ? STAKES_MAX ** random() : 0;
    const agentId = `agent://bench/${agent}`;
    const answer = await gateway.authorize({ agentId, action: "a.b", toolLevel, stakes });
    if (answer.word !== ruleOf(agent, toolLevel, stakes).verdict) wrong += 1;
  }
  gateway.close();
  timers.remove();
  const { asked, refreshed } = gateway.counts;
  return {
    has_refresh: hasRefresh,
    requests,
    paid_reads: asked + refreshed,
    paid_per_request: rounded((asked + refreshed) / requests),
    waiting_share: rounded(asked / requests),
    wrong_answers: wrong,
  };
}
