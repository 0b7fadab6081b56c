// Bodies of conditions and stops, and the lines of a CSV file with conditions.
import {
  CLEARED_MS_MAX,
  type Condition,
  type ConditionScope,
  type FleetStop,
} from "../conditions/events.ts";
import { type FieldError, invalidRequest } from "../faults.ts";
import { ConditionBatch, ConditionRequest, StopRequest } from "../schemas/conditions.ts";
import { DAY_MS } from "../units.ts";
import { createParser } from "./parser.ts";

const parseConditionBody = createParser(ConditionRequest);
const parseBatchBody = createParser(ConditionBatch);
const parseStopBody = createParser(StopRequest);

export interface ConditionOrder {
  readonly scope: ConditionScope;
  readonly condition: Condition;
}

export interface SubjectOrder extends ConditionOrder {
  readonly subject: string;
}

export interface StopOrder {
  readonly scope: ConditionScope;
  readonly stop: FleetStop;
}

/**
 * One condition. `nowMs`, epoch ms: its end must lie ahead.
 * @throws ServiceFault `invalid_request`.
 */
export function parseCondition(value: unknown, nowMs: number): ConditionOrder {
  const request = parseConditionBody(value);
  const faults = listConditionFaults(request, nowMs, "");
  if (faults.length > 0) throw invalidRequest(faults);
  return { scope: request.scope, condition: buildCondition(request) };
}

/**
 * Up to 1,000 conditions, a subject at most once in each scope.
 * @throws ServiceFault `invalid_request`.
 */
export function parseConditionBatch(value: unknown, nowMs: number): SubjectOrder[] {
  const { conditions } = parseBatchBody(value);
  const seen = new Set<string>();
  const faults: FieldError[] = [];
  const orders = conditions.map((request, index): SubjectOrder => {
    const pointer = `/conditions/${index}`;
    faults.push(...listConditionFaults(request, nowMs, pointer));
    const { subject, scope } = request;
    if (seen.has(`${scope} ${subject}`)) {
      const detail = "stands here twice";
      faults.push({ pointer: `${pointer}/subject`, code: "duplicate", detail });
    }
    seen.add(`${scope} ${subject}`);
    return { subject, scope, condition: buildCondition(request) };
  });
  if (faults.length > 0) throw invalidRequest(faults);
  return orders;
}

/** @throws ServiceFault `invalid_request`. */
export function parseStop(value: unknown, nowMs: number): StopOrder {
  const { scope, above = null, until, reason, case: of = null } = parseStopBody(value);
  const faults = listPastFaults(until, nowMs, "");
  if (faults.length > 0) throw invalidRequest(faults);
  const { code, text = null } = reason;
  return { scope, stop: { above, until_ms: until ?? null, reason: { code, text }, case: of } };
}

function buildCondition(request: ConditionRequest): Condition {
  const { state, levels = null, max_stakes = null, until, reason, case: of = null } = request;
  const { code, text = null } = reason;
  return { state, levels, max_stakes, until_ms: until ?? null, reason: { code, text }, case: of };
}

function listConditionFaults(
  { state, until, max_stakes: stakesMax }: ConditionRequest,
  nowMs: number,
  within: string,
): FieldError[] {
  const faults = listPastFaults(until, nowMs, within);
  if (state === "cleared" && until === undefined) {
    const detail = "is required: a clearance has an end";
    faults.push({ pointer: `${within}/until`, code: "required", detail });
  }
  if (state === "cleared" && until !== undefined && until > nowMs + CLEARED_MS_MAX) {
    const detail = `must be at most ${CLEARED_MS_MAX / DAY_MS} days away`;
    faults.push({ pointer: `${within}/until`, code: "range", detail });
  }
  if (state !== "cleared" && stakesMax !== undefined) {
    const detail = "is allowed only when `state` is `cleared`";
    faults.push({ pointer: `${within}/max_stakes`, code: "unknown", detail });
  }
  return faults;
}

function listPastFaults(until: number | undefined, nowMs: number, within: string): FieldError[] {
  if (until === undefined || until > nowMs) return [];
  return [{ pointer: `${within}/until`, code: "range", detail: "has passed" }];
}
