// Outbound gate (SPEC §4.8 rail 1), without a framework: the decision on one tool call. Total: a
// fault, a late answer, a callback that throws and an unknown word all deny. The adapters only
// translate.
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { HandshakeVerdict, TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import { describeMissingVerdict, TrustGateError } from "../errors.ts";
import { isSensitive } from "../gateway/fail-policy.ts";
import { callSafely } from "../outage-alert.ts";
import { type ActionVerdict, askActionVerdict } from "./action-verdict.ts";
import { resolveEscalation } from "./await-review.ts";
import {
  assertOptions,
  callOrThrowGateError,
  createObjectRule,
  FUNCTION,
  MILLISECONDS,
  type OptionRule,
  readStakes,
  REQUIRED_FUNCTION,
  TOOL_LEVEL,
} from "./gate-options.ts";
import { type CallIdentity, ToolDecisionCache } from "./tool-decision-cache.ts";
import { ToolVerdictCache } from "./tool-verdict-cache.ts";
import { type VerificationCallback, verifyWeakerLeg } from "../verification.ts";
import { selectPassage } from "./passage.ts";

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
  readonly verdict: ActionVerdict | HandshakeVerdict | undefined;
  /**
   * The fault that denied the call where there is no verdict, for logs: its message may hold what a callback
   * threw, which `cause` keeps, or the service's detail.
   */
  readonly error?: Error | undefined;
  /** The agent whose record the result goes on: the one scored, or the handshake's other party. */
  readonly subject?: string | undefined;
  /** The value at risk, as the question stated it; undefined where it stated none. */
  readonly stakes?: number | undefined;
}

/** Options of every approval policy. */
export interface ApprovalOptions {
  readonly client?: TrustRankClient;
  /** Default L2: a tool worth an approval policy is at least sensitive. */
  readonly toolLevel?: ToolLevel;
  /**
   * Milliseconds to wait for a person's decision in the service's review queue before an `escalate`
   * is parked; then the question is asked again. 0, the default: it is parked at once.
   */
  readonly reviewWaitMs?: number;
  /**
   * Additional verification where the verdict asks for one: true runs the call, anything else denies it.
   * Without one the call waits for a person at L2 and L3 and runs below, since no framework has a state
   * for it.
   */
  readonly verification?: VerificationCallback<ToolCall>;
  /** Called with every decision, once per question; for logs. */
  readonly onDecision?: (decision: ToolDecision, call: ToolCall) => void | Promise<void>;
}

/**
 * Input of a tool where neither the framework's own types nor a type argument name it: models
 * write it, and a callback that reads what is not there denies.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyInput = any;

/** Options of a policy by the verdict on one agent; `Input` is the tool's. */
export interface CheckApprovalOptions<Input = AnyInput> extends ApprovalOptions {
  /** The value at risk in this call; default: what the policy assumes without stakes. */
  readonly stakes?: (input: Input, call: ToolCall) => number;
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

/** Of a tool's name within an action. */
const TOOL_NAME_LENGTH_MAX = 200;

/** Decides one call; `Input` is the tool's. Never rejects. */
export interface ApprovalPolicy<Input = AnyInput> {
  (call: ToolCall<Input>): Promise<ToolDecision>;
  /** The last decision on this call, for a report of what came of it; undefined: not known. */
  readonly decisionOn?: (call: CallIdentity) => ToolDecision | undefined;
}

const APPROVAL_RULES: Readonly<Record<keyof ApprovalOptions, OptionRule>> = {
  client: createObjectRule("a TrustRankClient", []),
  toolLevel: TOOL_LEVEL,
  reviewWaitMs: MILLISECONDS,
  verification: FUNCTION,
  onDecision: FUNCTION,
};
const CHECK_RULES: Readonly<Record<keyof CheckApprovalOptions, OptionRule>> = {
  ...APPROVAL_RULES,
  client: createObjectRule("a TrustRankClient", ["verify"]),
  stakes: FUNCTION,
  agentId: FUNCTION,
};
const HANDSHAKE_RULES: Readonly<Record<keyof HandshakeApprovalOptions, OptionRule>> = {
  ...APPROVAL_RULES,
  client: createObjectRule("a TrustRankClient", ["handshake"]),
  stakes: REQUIRED_FUNCTION,
  initiator: FUNCTION,
  counterparty: FUNCTION,
};

/**
 * A policy by the verdict on one agent: verify at the tool's level, at L2 for a tool below it, so that a
 * refused agent's call never runs.
 * @throws TypeError at once, when an option is unknown or of the wrong type.
 */
export function checkApproval<Input = AnyInput>(
  options: CheckApprovalOptions<Input> = {},
): ApprovalPolicy<Input> {
  assertOptions(options, CHECK_RULES);
  const { toolLevel: level = "L2", stakes: readAmount } = options;
  const toolLevel = isSensitive(level) ? level : "L2";
  return createApprovalPolicy(options, (client, call) => {
    const input = call.input as Input;
    const stakes = readStakes(readAmount && (() => readAmount(input, call)));
    const agentId = callOrThrowGateError("agentId", () =>
      options.agentId === undefined ? readPrincipal(call) : options.agentId(input, call),
    );
    const { signal } = call;
    const action = formatToolAction(call.toolName);
    return {
      key: [agentId],
      subject: agentId,
      stakes,
      read: () => askActionVerdict(client, { agentId, action, toolLevel, stakes, signal }),
    };
  });
}

/**
 * A policy by the handshake of two agents.
 * @throws TypeError at once, when an option is missing, unknown or of the wrong type.
 */
export function handshakeApproval<Input = AnyInput>(
  options: HandshakeApprovalOptions<Input>,
): ApprovalPolicy<Input> {
  assertOptions(options, HANDSHAKE_RULES);
  return createApprovalPolicy(options, (client, call) => {
    const input = call.input as Input;
    // The callback is required, so there is an amount.
    const stakes = readStakes(() => options.stakes(input, call))!;
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
  readonly stakes: number | undefined;
  readonly read: () => Promise<ActionVerdict | HandshakeVerdict>;
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
      const error = convertToError(thrown);
      return { action: "deny", reason: describeFault(error), verdict: undefined, error };
    });
    record.put(call, decision);
    callSafely((made: ToolDecision) => options.onDecision?.(made, call), decision);
    return decision;
  };
  return Object.assign(policy, { decisionOn: (call: CallIdentity) => record.find(call) });
}

async function decide(
  verdict: ActionVerdict | HandshakeVerdict,
  call: ToolCall,
  options: ApprovalOptions,
): Promise<ToolDecision> {
  const reason = verdict.reasons.join("; ") || verdict.decision;
  return { action: await selectAction(verdict, call, options), reason, verdict };
}

async function selectAction(
  verdict: ActionVerdict | HandshakeVerdict,
  call: ToolCall,
  { verification, toolLevel = "L2" }: ApprovalOptions,
): Promise<ToolDecision["action"]> {
  const passage = selectPassage(verdict, toolLevel);
  if (passage === "open") return "run";
  if (passage === "refused") return "deny";
  if (passage === "person") return "park";
  if (verification !== undefined) {
    const subject = "a_to_b" in verdict ? "" : verdict.subject;
    return (await verifyWeakerLeg(verification, verdict, subject, call)) ? "run" : "deny";
  }
  return passage === "marked" || !isSensitive(toolLevel) ? "run" : "park";
}

function convertToError(thrown: unknown): Error {
  return thrown instanceof Error
    ? thrown
    : new TrustGateError("the policy failed", undefined, thrown);
}

/** One line for a person or a model: the failure, without what callbacks and the network say. */
function describeFault(error: Error): string {
  if (error instanceof TrustGateError) return error.reasons.join("; ");
  return describeMissingVerdict(error);
}

/** `<domain>.<operation>` of a tool call; a tool's name may hold characters that an action may not. */
function formatToolAction(toolName: string): string {
  const operation = toolName.slice(0, TOOL_NAME_LENGTH_MAX).replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return `tool.${operation || "call"}`;
}

function readPrincipal(call: ToolCall): string {
  if (call.principalId !== undefined) return call.principalId;
  throw new TrustGateError("the session has no principal: pass `agentId`");
}

function readStringMember(input: unknown, name: string): string {
  const value = typeof input === "object" && input !== null ? Reflect.get(input, name) : undefined;
  if (typeof value === "string") return value;
  throw new TrustGateError(`the input has no \`${name}\``);
}
