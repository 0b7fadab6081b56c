// Requests of the checks of `lines.test.ts`: bodies that are valid as they stand, and handshakes of the agents that are judged.
import type {
  HandshakeRequest,
  HandshakeResponse,
  VerifyRequest,
} from "../../src/contract/schemas/scores.ts";
import { SAMPLE_AGENTS, TEST_AGENTS } from "./_line-setting.ts";
import { AGENTS, type Door } from "./_world.ts";

export const VERIFY = "/v1/trust/verify";
export const HANDSHAKE = "/v1/handshake";
export const OUTCOMES = "/v1/outcomes";

export const verifyBody: VerifyRequest = {
  agent_id: "agent://lines/any",
  action: "order.place",
  tool_level: "L2",
  context: {},
};
export const handshakeBody: HandshakeRequest = {
  initiator: "agent://lines/any",
  counterparty: "agent://lines/other",
  stakes: 5,
};
export const outcomeBody = {
  subject: "agent://lines/any",
  reporter: "agent://lines/other",
  outcome: 1,
  stakes: 5,
  grade: "counterparty",
} as const;

/** Judged agents of every kind. */
export const EVERYONE = [...Object.values(AGENTS), ...SAMPLE_AGENTS, ...Object.values(TEST_AGENTS)];

/** Test agents by the decision that they get, in the order of DECISIONS. */
export const BY_DECISION = [
  TEST_AGENTS.connect,
  TEST_AGENTS.verification,
  TEST_AGENTS.escalate,
  TEST_AGENTS.refuse,
];

/** One handshake. */
export function shake(
  door: Door,
  initiator: string,
  counterparty: string,
  stakes = 5,
): Promise<HandshakeResponse> {
  return door.handshake(initiator, counterparty, stakes);
}

/** Looks at both legs of handshakes with agents of every kind. */
export async function eachLeg(
  door: Door,
  look: (leg: HandshakeResponse["a_to_b"], whole: HandshakeResponse) => void,
): Promise<void> {
  for (const other of EVERYONE) {
    for (const stakes of [0, 500]) {
      const whole = await shake(door, AGENTS.trusted, other, stakes);
      look(whole.a_to_b, whole);
      look(whole.b_to_a, whole);
    }
  }
}
