// Rolling restarts of the nodes behind a gateway, under requests: one node after the other gets SIGTERM, ends, starts
// and is asked again before the next one follows. Counts what end clients got.
import type { GatewayOnNodes } from "./_nodes.ts";
import { PATHS } from "./_edge.ts";

const POLL_MS = 50;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export interface RollingOptions {
  /** At least so many; more where the restarts take longer. */
  readonly requests: number;
  readonly rounds: number;
  readonly callers: number;
  /** Wait of a caller between two requests. */
  readonly pauseMs: number;
  /** Agents that are asked about in turn, by the names of their tokens, with the status that each must get at L3. */
  readonly agents: readonly (readonly [string, number])[];
}

export interface RollingResult {
  /** Answered as they must be. */
  right: number;
  /** All others by status and mark, or by the code of the error; empty where none was refused or lost. */
  readonly wrong: Record<string, number>;
  readonly restarts: number;
  /** Exit codes of nodes that did not end with 0. */
  readonly badExits: (number | null)[];
}

/** Sends requests at L3 while each node is restarted `rounds` times. */
export async function restartInTurn(
  edge: GatewayOnNodes,
  options: RollingOptions,
): Promise<RollingResult> {
  const result = { right: 0, wrong: {} as Record<string, number>, restarts: 0 };
  const badExits: (number | null)[] = [];
  let isRolling = true;
  let sent = 0;
  const caller = async () => {
    while (isRolling || sent < options.requests) {
      const [agent, expected] = options.agents[sent % options.agents.length]!;
      sent += 1;
      const seen = await askOnce(edge, agent);
      if (seen === String(expected)) result.right += 1;
      else result.wrong[seen] = (result.wrong[seen] ?? 0) + 1;
      await pause(options.pauseMs);
    }
  };
  const callers = Array.from({ length: options.callers }, caller);
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      for (const node of edge.nodes) {
        const ended = await node.end("SIGTERM");
        if (ended?.code !== 0) badExits.push(ended?.code ?? null);
        await node.start();
        // The gateway has seen that it is back.
        while ((await node.countAsked()) === 0) await pause(POLL_MS);
        result.restarts += 1;
      }
    }
  } finally {
    isRolling = false;
    await Promise.all(callers);
  }
  return { ...result, badExits };
}

/** The status, with the mark of an answer without a verdict, or the code of the error. */
async function askOnce(edge: GatewayOnNodes, agent: string): Promise<string> {
  try {
    const response = await edge.ask(PATHS.L3, agent);
    await response.arrayBuffer();
    const mark = response.headers.get("x-trust-degraded");
    return mark === null ? String(response.status) : `${response.status} ${mark}`;
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string } };
    return cause?.code ?? message;
  }
}
