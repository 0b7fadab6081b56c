// Parsed values -> the wire requests (SPEC §2.2, §2.4, §2.6, §4.3), every member checked
// and copied. All faults of a body are reported together. Unknown members are ignored: the spec's
// own routes must accept a newer caller.
import {
  actionFault,
  agentFault,
  agentNameFault,
  asBody,
  broken,
  contentHashFault,
  enumFault,
  type FieldErrors,
  invalidRequest,
  isObject,
  note,
  plainTextFault,
  stakesFault,
  tokenFault,
  typeFault,
} from "./field-rules.ts";
import { isAction, isContentHash, isPlainText } from "../identifiers.ts";
import {
  AGENT_ID_BYTES_MAX,
  BATCH_ITEMS_MAX,
  CITED_SOURCES_MAX,
  CONTENT_TYPE_LENGTH_MAX,
  OUTCOME_ID_LENGTH_MAX,
  REQUEST_ID_LENGTH_MAX,
  SOURCE_ID_LENGTH_MAX,
} from "../limits.ts";
import type {
  CheckRequest,
  FieldError,
  HandshakeRequest,
  OutcomeRequest,
  VerifyContext,
  VerifyRequest,
} from "../messages.ts";
import { isEpochMs, parseDateTime } from "../timestamps.ts";
import { type Grade, GRADES, TOOL_LEVELS, type ToolLevel } from "../vocabulary.ts";

type Members = Record<string, unknown>;

/** SPEC §2.2. Throws ServiceFault `invalid_request` listing every fault. */
export function parseVerifyRequest(value: unknown): VerifyRequest {
  const members = asBody(value);
  const errors = verifyFaults("", members);
  if (errors !== undefined) throw invalidRequest(errors);
  return verifyRequest(members);
}

/**
 * SPEC §4.9 "batch mode": `{items: [...]}` of 1 to 1,000 verify requests. Each item is a request or
 * the list of its own faults; only a wrong envelope throws.
 */
export function parseVerifyBatch(value: unknown): (VerifyRequest | FieldError[])[] {
  const { items } = asBody(value);
  if (!Array.isArray(items)) {
    const isMissing = items === undefined;
    throw invalidRequest([
      isMissing
        ? broken("/items", "required", "is required")
        : broken("/items", "type", "must be an array"),
    ]);
  }
  if (items.length === 0 || items.length > BATCH_ITEMS_MAX) {
    throw invalidRequest([broken("/items", "length", `must hold 1 to ${BATCH_ITEMS_MAX} items`)]);
  }
  return items.map((item, index) => {
    const pointer = `/items/${index}`;
    if (!isObject(item)) return [broken(pointer, "type", "must be an object")];
    return verifyFaults(pointer, item) ?? verifyRequest(item);
  });
}

/** SPEC §4.3 leaves the body open: `{subject, stakes}`. */
export function parseCheckRequest(value: unknown): CheckRequest {
  const { subject, stakes } = asBody(value);
  let errors = note(undefined, agentFault("/subject", subject));
  errors = note(errors, stakesFault("/stakes", stakes));
  if (errors !== undefined) throw invalidRequest(errors);
  return { subject: subject as string, stakes: stakes as number };
}

/** SPEC §2.4. An agent may be asked about itself: the specification does not forbid it. */
export function parseHandshakeRequest(value: unknown): HandshakeRequest {
  const { initiator, counterparty, stakes } = asBody(value);
  let errors = note(undefined, agentFault("/initiator", initiator));
  errors = note(errors, agentFault("/counterparty", counterparty));
  errors = note(errors, stakesFault("/stakes", stakes));
  if (errors !== undefined) throw invalidRequest(errors);
  return {
    initiator: initiator as string,
    counterparty: counterparty as string,
    stakes: stakes as number,
  };
}

/**
 * SPEC §2.6. SPEC §4.4 does not say that `grade` may be left out, so it is required; `outcome` is
 * the integer 0 or 1 and nothing that merely looks like it.
 */
export function parseOutcomeRequest(value: unknown): OutcomeRequest {
  const members = asBody(value);
  const { subject, reporter, outcome, stakes, grade } = members;
  let errors = note(undefined, agentFault("/subject", subject));
  errors = note(errors, agentFault("/reporter", reporter));
  if (outcome !== 0 && outcome !== 1) errors = note(errors, outcomeFault(outcome));
  errors = note(errors, stakesFault("/stakes", stakes));
  errors = note(errors, enumFault("/grade", grade, GRADES));
  errors = outcomeExtensionFaults(errors, members);
  if (errors !== undefined) throw invalidRequest(errors);
  const request: OutcomeRequest = {
    subject: subject as string,
    reporter: reporter as string,
    outcome: outcome as 0 | 1,
    stakes: stakes as number,
    grade: grade as Grade,
  };
  addOutcomeExtensions(request, members);
  return request;
}

function verifyFaults(at: string, members: Members): FieldErrors {
  const { context, stakes } = members;
  const { agent_id, action, tool_level } = members;
  // Pointers are spelled only for what is broken: a sound request builds none.
  let errors: FieldErrors = undefined;
  if (!isPlainText(agent_id, AGENT_ID_BYTES_MAX)) {
    errors = note(errors, agentNameFault(`${at}/agent_id`, agent_id));
  }
  if (!isAction(action)) errors = note(errors, actionFault(`${at}/action`, action));
  if (!TOOL_LEVELS.includes(tool_level as ToolLevel)) {
    errors = note(errors, enumFault(`${at}/tool_level`, tool_level, TOOL_LEVELS));
  }
  if (stakes !== undefined) errors = note(errors, stakesFault(`${at}/stakes`, stakes));
  // SPEC §2.2 lists `context` but a gateway may know none of its members: absent is empty.
  if (context === undefined) return errors;
  if (!isObject(context)) {
    return note(errors, broken(`${at}/context`, "type", "must be an object"));
  }
  return contextFaults(at, context, errors);
}

function contextFaults(at: string, context: Members, found: FieldErrors): FieldErrors {
  const { content_hash, cited_sources, session_duration_sec, content, content_type, question } =
    context;
  let errors = found;
  if (content_hash !== undefined && !isContentHash(content_hash)) {
    errors = note(errors, contentHashFault(`${at}/context/content_hash`, content_hash));
  }
  if (cited_sources !== undefined) errors = sourcesFaults(at, cited_sources, errors);
  if (session_duration_sec !== undefined && !isDuration(session_duration_sec)) {
    const pointer = `${at}/context/session_duration_sec`;
    errors = note(errors, durationFault(pointer, session_duration_sec));
  }
  if (content !== undefined && typeof content !== "string") {
    errors = note(errors, typeFault(`${at}/context/content`, content, "string"));
  }
  if (content_type !== undefined && !isPlainText(content_type, CONTENT_TYPE_LENGTH_MAX)) {
    const pointer = `${at}/context/content_type`;
    errors = note(errors, plainTextFault(pointer, content_type, CONTENT_TYPE_LENGTH_MAX));
  }
  if (question !== undefined && typeof question !== "string") {
    errors = note(errors, typeFault(`${at}/context/question`, question, "string"));
  }
  return errors;
}

function sourcesFaults(at: string, sources: unknown, found: FieldErrors): FieldErrors {
  const pointer = `${at}/context/cited_sources`;
  if (!Array.isArray(sources)) return note(found, broken(pointer, "type", "must be an array"));
  if (sources.length > CITED_SOURCES_MAX) {
    const detail = `must hold at most ${CITED_SOURCES_MAX} sources`;
    return note(found, broken(pointer, "length", detail));
  }
  let errors = found;
  for (let index = 0; index < sources.length; index += 1) {
    const source: unknown = sources[index];
    if (isPlainText(source, SOURCE_ID_LENGTH_MAX)) continue;
    errors = note(errors, plainTextFault(`${pointer}/${index}`, source, SOURCE_ID_LENGTH_MAX));
  }
  return errors;
}

function isDuration(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function durationFault(pointer: string, value: unknown): FieldError {
  if (!Number.isInteger(value)) return broken(pointer, "type", "must be an integer");
  return broken(pointer, "range", "must be a non-negative number of seconds");
}

function outcomeFault(value: unknown): FieldError {
  if (value === undefined) return broken("/outcome", "required", "is required");
  if (!Number.isInteger(value)) return broken("/outcome", "type", "must be the integer 0 or 1");
  return broken("/outcome", "enum", "must be 0 (failure) or 1 (success)");
}

function verifyRequest(members: Members): VerifyRequest {
  const { context, stakes } = members;
  const request: VerifyRequest = {
    agent_id: members["agent_id"] as string,
    action: members["action"] as string,
    tool_level: members["tool_level"] as ToolLevel,
    context: context === undefined ? {} : verifyContext(context as VerifyContext),
  };
  if (stakes !== undefined) request.stakes = stakes as number;
  return request;
}

function verifyContext(from: VerifyContext): VerifyContext {
  const context: VerifyContext = {};
  if (from.content_hash !== undefined) context.content_hash = from.content_hash;
  if (from.cited_sources !== undefined) context.cited_sources = from.cited_sources;
  if (from.session_duration_sec !== undefined) {
    context.session_duration_sec = from.session_duration_sec;
  }
  if (from.content !== undefined) context.content = from.content;
  if (from.content_type !== undefined) context.content_type = from.content_type;
  if (from.question !== undefined) context.question = from.question;
  return context;
}

function outcomeExtensionFaults(found: FieldErrors, members: Members): FieldErrors {
  const { id, settled_at, agent_fault, action, request_id } = members;
  let errors = found;
  if (id !== undefined) errors = note(errors, tokenFault("/id", id, OUTCOME_ID_LENGTH_MAX));
  if (settled_at !== undefined) errors = note(errors, settledAtFault(settled_at));
  if (agent_fault !== undefined) {
    errors = note(errors, typeFault("/agent_fault", agent_fault, "boolean"));
  }
  if (action !== undefined) errors = note(errors, actionFault("/action", action));
  if (request_id !== undefined) {
    errors = note(errors, tokenFault("/request_id", request_id, REQUEST_ID_LENGTH_MAX));
  }
  return errors;
}

function settledAtFault(value: unknown): FieldError | undefined {
  const pointer = "/settled_at";
  if (typeof value === "string") {
    const timeMs = parseDateTime(value);
    if (timeMs === undefined) {
      return broken(pointer, "format", "must be an RFC 3339 date-time or epoch milliseconds");
    }
    return isEpochMs(timeMs) ? undefined : broken(pointer, "range", "must be 1970 or later");
  }
  if (isEpochMs(value)) return undefined;
  if (Number.isInteger(value)) return broken(pointer, "range", "must be 1970 or later");
  return broken(pointer, "type", "must be an RFC 3339 date-time or whole epoch milliseconds");
}

function addOutcomeExtensions(request: OutcomeRequest, members: Members): void {
  const { id, settled_at, agent_fault, action, request_id } = members;
  if (id !== undefined) request.id = id as string;
  if (typeof settled_at === "number") request.settled_at = settled_at;
  else if (typeof settled_at === "string") {
    request.settled_at = parseDateTime(settled_at) as number;
  }
  if (agent_fault !== undefined) request.agent_fault = agent_fault as boolean;
  if (action !== undefined) request.action = action as string;
  if (request_id !== undefined) request.request_id = request_id as string;
}
