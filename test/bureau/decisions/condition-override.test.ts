// A logged verify judged again: by the conditions of its time, never by those that came later.
import { describe, expect, it } from "vitest";
import {
  applyLoggedConditionCode,
  applyLoggedConditions,
} from "../../../src/bureau/decisions/condition-override.ts";
import type { BureauServices } from "../../../src/bureau/services.ts";
import { ConditionBook } from "../../../src/contract/conditions/book.ts";
import type { ConditionState } from "../../../src/contract/conditions/events.ts";
import type { ReplayableLeg } from "../../../src/contract/schemas/decisions.ts";
import { DECISION } from "../../../src/contract/vocabulary.ts";
import { createRuleInputs } from "../../../src/policy/rule-inputs.ts";
import { CLEARED, REFUSED, RISK_ABOVE_BOUND, SUFFICIENT } from "../../../src/policy/rulings.ts";

const AGENT = "agent://acme/ledger-sync";
const AT_MS = Date.parse("2026-03-01T12:00:00.000Z");

/** A book in which the state held from `fromMs` to `toMs`. */
function openBook(state: ConditionState, fromMs: number, toMs: number): BureauServices {
  const conditions = new ConditionBook([], true);
  const origin = { tenant: "acme", actor: "key", subject: "agent://acme/*" } as const;
  conditions.apply({
    event: "condition.set",
    at_ms: fromMs,
    ...origin,
    condition: {
      state,
      levels: null,
      max_stakes: 1000,
      until_ms: null,
      reason: { code: "known", text: null },
      case: null,
    },
  });
  conditions.apply({ event: "condition.lifted", at_ms: toMs, ...origin });
  return { conditions } as unknown as BureauServices;
}

const leg = (logReason: string) =>
  ({
    tenant: "acme",
    subject: AGENT,
    evaluated_at: new Date(AT_MS).toISOString(),
    log_reason: logReason,
  }) as ReplayableLeg;
const judge = (services: BureauServices, logReason: string, decided = RISK_ABOVE_BOUND) =>
  applyLoggedConditions(services, leg(logReason), createRuleInputs("L2"), decided).logReason;

describe("replay of a verify", () => {
  it("clears what another config denies while the agent was cleared, not before or after", () => {
    expect(judge(openBook("cleared", AT_MS - 10, AT_MS + 10), "TRUST_SUFFICIENT")).toBe("CLEARED");
    expect(judge(openBook("cleared", AT_MS + 5, AT_MS + 10), "TRUST_SUFFICIENT")).toBe(
      "RISK_ABOVE_BOUND",
    );
    expect(judge(openBook("cleared", AT_MS - 10, AT_MS - 5), "TRUST_SUFFICIENT")).toBe(
      "RISK_ABOVE_BOUND",
    );
  });

  it("clears no refusal, and nothing that the log shows was decided by the record", () => {
    const services = openBook("cleared", AT_MS - 10, AT_MS + 10);
    expect(judge(services, "TRUST_SUFFICIENT", REFUSED)).toBe("REFUSE_RULE");
    expect(judge(services, "RISK_ABOVE_BOUND")).toBe("RISK_ABOVE_BOUND");
  });

  it("keeps what the log names, without the book", () => {
    const none = { conditions: new ConditionBook() } as unknown as BureauServices;
    for (const reason of ["SUSPENDED", "STOPPED"])
      expect(judge(none, reason, SUFFICIENT)).toBe(reason);
    expect(judge(none, CLEARED.logReason)).toBe("CLEARED");
    expect(judge(none, "WATCHED", SUFFICIENT)).toBe("WATCHED");
  });
});

describe("replay of a leg", () => {
  it("refuses what was suspended or stopped, connects what was cleared, never what is refused", () => {
    const judged = (logReason: string | null, decision: number) =>
      applyLoggedConditionCode(decision, logReason);
    expect(judged("SUSPENDED", DECISION.connect)).toBe(DECISION.refuse);
    expect(judged("STOPPED", DECISION.escalate)).toBe(DECISION.refuse);
    expect(judged("CLEARED", DECISION.escalate)).toBe(DECISION.connect);
    expect(judged("CLEARED", DECISION.refuse)).toBe(DECISION.refuse);
    expect(judged("WATCHED", DECISION.escalate)).toBe(DECISION.escalate);
    expect(judged(null, DECISION.connect)).toBe(DECISION.connect);
  });
});
