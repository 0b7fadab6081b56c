// Outbound gate (SPEC §4.8 rail 1), without a framework: the decision on one tool call. Total: a
// fault, a late answer, a callback that throws and an unknown word all deny. The adapters only
// translate.
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { CheckVerdict, HandshakeVerdict, TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import { TrustGateError, TrustRankError } from "../errors.ts";
import { isSensitive } from "../gateway/fail-policy.ts";
import { callSafely } from "../outage-alert.ts";
import { isShadowVerdict } from "../read-reply.ts";
import { resolveEscalation } from "./await-review.ts";
import { type CallIdentity, ToolDecisionCache } from "./tool-decision-cache.ts";
import { ToolVerdictCache } from "./tool-verdict-cache.ts";
import { callOrThrowGateError } from "./with-trust-rank.ts";

/** One attempt to run a tool, with the members common to all frameworks; `Input` is the tool's. */
export interface ToolCall<Input = AnyInput> {
  readonly toolName: string;
  readonly input: Input;
  /** Identity of the attempt; the policy runs again for the same id after a person approved. */
  readonly callId?: string | undefined;
  /** The run, thread or session that `callId` counts in: some models repeat ids in the next one. */
  readonly conversationId?: string | undefined;
  /** The session's authenticated principal, when the framework knows it. */
  readonly principalId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `run`: dispatch. `park`: a person decides. `deny`: never runs; `reason` may be shown. */
export interface ToolDecision {
  readonly action: "run" | "park" | "deny";
  readonly reason: string;
  readonly verdict: CheckVerdict | HandshakeVerdict | undefined;
  /** The agent whose record the result goes on: the one scored, or the handshake's other party. */
  readonly subject?: string | undefined;
  /** The value at risk, as the question stated it. */
  readonly stakes?: number | undefined;
}

/** Options of every approval policy. */
export interface ApprovalOptions {
  readonly client?: TrustRankClient;
  /** Default L2: a tool worth an approval policy is at least sensitive. */
  readonly toolLevel?: ToolLevel;
  /**
   * Effect of `connect_with_verification`; no framework has that state. `ask` parks the call for a
   * person and is the default at L2 and L3, `approve` runs it and is the default below.
   */
  readonly onVerification?: "approve" | "ask";
  /**
   * Milliseconds to wait for a person's decision in the service's review queue before an `escalate`
   * is parked; then the question is asked again. 0, the default: it is parked at once.
   */
  readonly reviewWaitMs?: number;
  /** Additional verification of your own; anything but true denies. */
  readonly verify?: (verdict: CheckVerdict | HandshakeVerdict, call: ToolCall) => unknown;
  /** Called with every decision, once per question; for logs. */
  readonly onDecision?: (decision: ToolDecision, call: ToolCall) => void | Promise<void>;
}

/**
 * Input of a tool where neither the framework's own types nor a type argument name it: models
 * write it, and a callback that reads what is not there denies.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyInput = any;

/** Options of a policy by the score of one agent; `Input` is the tool's. */
export interface CheckApprovalOptions<Input = AnyInput> extends ApprovalOptions {
  /** The value at risk in this call. */
  readonly stakes: (input: Input, call: ToolCall) => number;
  /** The agent to score; default: the session's principal. */
  readonly agentId?: (input: Input, call: ToolCall) => string;
}

/** Options of a policy by the handshake of two agents; `Input` is the tool's. */
export interface HandshakeApprovalOptions<Input = AnyInput> extends ApprovalOptions {
  /** SPEC §4.8: the value at risk, from the tool's input. */
  readonly stakes: (input: Input, call: ToolCall) => number;
  /**
   * Initiator of the connection; default: the client's own `agentId`, else the session's principal.
   */
  readonly initiator?: (input: Input, call: ToolCall) => string;
  /** The other party; default: member `counterparty` of the input. */
  readonly counterparty?: (input: Input, call: ToolCall) => string;
}

/** Decides one call; `Input` is the tool's. Never rejects. */
export interface ApprovalPolicy<Input = AnyInput> {
  (call: ToolCall<Input>): Promise<ToolDecision>;
  /** The last decision on this call, for a report of what came of it; undefined: not known. */
  readonly decisionOn?: (call: CallIdentity) => ToolDecision | undefined;
}

/** A policy by the score of one agent. */
export function checkApproval<Input = AnyInput>(
  options: CheckApprovalOptions<Input>,
): ApprovalPolicy<Input> {
  return createApprovalPolicy(options, (client, call) => {
    const input = call.input as Input;
    const stakes = callOrThrowGateError("stakes", () => options.stakes(input, call));
    const agentId = callOrThrowGateError("agentId", () =>
      options.agentId === undefined ? readPrincipal(call) : options.agentId(input, call),
    );
    const { signal } = call;
    return {
      key: [agentId],
      subject: agentId,
      stakes,
      read: () => client.check(agentId, { stakes, signal }),
    };
  });
}

/** A policy by the handshake of two agents. */
export function handshakeApproval<Input = AnyInput>(
  options: HandshakeApprovalOptions<Input>,
): ApprovalPolicy<Input> {
  return createApprovalPolicy(options, (client, call) => {
    const input = call.input as Input;
    const stakes = callOrThrowGateError("stakes", () => options.stakes(input, call));
    const initiator = callOrThrowGateError("initiator", () =>
      options.initiator === undefined
        ? (client.agentId ?? readPrincipal(call))
        : options.initiator(input, call),
    );
    const counterparty = callOrThrowGateError("counterparty", () =>
      options.counterparty === undefined
        ? readStringMember(call.input, "counterparty")
        : options.counterparty(input, call),
    );
    const { signal } = call;
    return {
      key: [initiator, counterparty],
      subject: counterparty,
      stakes,
      read: () => client.handshake(initiator, counterparty, { stakes, signal }),
    };
  });
}

interface ApprovalQuestion {
  /** The agents that the answer depends on. */
  readonly key: readonly string[];
  readonly subject: string;
  readonly stakes: number;
  readonly read: () => Promise<CheckVerdict | HandshakeVerdict>;
}

function createApprovalPolicy(
  options: ApprovalOptions,
  questionOf: (client: TrustRankClient, call: ToolCall) => ApprovalQuestion,
): ApprovalPolicy {
  const memory = new ToolVerdictCache();
  const record = new ToolDecisionCache();
  const answer = async (call: ToolCall): Promise<ToolDecision> => {
    const client = requireClient(options.client);
    const { key, subject, stakes, read } = questionOf(client, call);
    const { conversationId = null, callId = null, toolName } = call;
    const question = JSON.stringify([conversationId, callId, toolName, key, stakes]);
    const { reviewWaitMs: timeoutMs = 0 } = options;
    const { signal } = call;
    const wait = (id: string) => client.awaitReview(id, { timeoutMs, signal });
    const ask = timeoutMs > 0 ? async () => resolveEscalation(await read(), read, wait) : read;
    const decision = await decide(await memory.findOrRead(question, ask), call, options);
    return { ...decision, subject, stakes };
  };
  const policy = async (call: ToolCall): Promise<ToolDecision> => {
    const decision = await answer(call).catch((thrown: unknown): ToolDecision => {
      return { action: "deny", reason: describeThrown(thrown), verdict: undefined };
    });
    record.put(call, decision);
    callSafely((made: ToolDecision) => options.onDecision?.(made, call), decision);
    return decision;
  };
  return Object.assign(policy, { decisionOn: (call: CallIdentity) => record.find(call) });
}

async function decide(
  verdict: CheckVerdict | HandshakeVerdict,
  call: ToolCall,
  options: ApprovalOptions,
): Promise<ToolDecision> {
  const reason = verdict.reasons.join("; ") || verdict.decision;
  if (isShadowVerdict(verdict)) return { action: "run", reason, verdict };
  switch (verdict.decision) {
    case "connect":
      return { action: "run", reason, verdict };
    case "connect_with_verification":
      return { action: await selectVerificationAction(verdict, call, options), reason, verdict };
    case "escalate":
      return { action: "park", reason, verdict };
    case "refuse":
      return { action: "deny", reason, verdict };
  }
  return denyUnknownDecision(verdict.decision);
}

async function selectVerificationAction(
  verdict: CheckVerdict | HandshakeVerdict,
  call: ToolCall,
  options: ApprovalOptions,
): Promise<ToolDecision["action"]> {
  if (options.verify !== undefined && (await options.verify(verdict, call)) !== true) return "deny";
  const sensitive = isSensitive(options.toolLevel ?? "L2");
  const onVerification = options.onVerification ?? (sensitive ? "ask" : "approve");
  return onVerification === "approve" ? "run" : "park";
}

/** Replies are checked word by word before they get here; a caller's own client may not be. */
function denyUnknownDecision(decision: never): ToolDecision {
  const reason = `the decision \`${String(decision)}\` is not known`;
  return { action: "deny", reason, verdict: undefined };
}

/** One line for a person or a model: the failure, without the service's internals. */
function describeThrown(thrown: unknown): string {
  if (thrown instanceof TrustGateError) return thrown.message;
  if (thrown instanceof TrustRankError) return `no trust verdict (${thrown.code})`;
  return "no trust verdict (the policy failed)";
}

function readPrincipal(call: ToolCall): string {
  if (call.principalId !== undefined) return call.principalId;
  throw new TypeError("the session has no principal: pass `agentId`");
}

function readStringMember(input: unknown, name: string): string {
  const value = typeof input === "object" && input !== null ? Reflect.get(input, name) : undefined;
  if (typeof value === "string") return value;
  throw new TypeError(`the input has no \`${name}\``);
}
