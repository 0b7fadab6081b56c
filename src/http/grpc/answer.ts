// The gateway route's reply as Envoy's answer. A verdict, and a refusal of what was asked, are
// decisions and deny; a fault on our side of the wire (key, limits, deadline, overload) is a status
// of the call, so that Envoy's own `failure_mode_allow` decides, as it does when nobody answers.
import type { Problem } from "../../contract/schemas/service.ts";
import type { GatewayDenial } from "../../contract/schemas/scores.ts";
import { PROBLEM_MEDIA_TYPE } from "../codec/reply.ts";
import type { Reply } from "../server/port.ts";
import type { CheckResponse, HeaderOption } from "./messages.ts";

/** Codes of google.rpc.Code that are used here. */
export const CODES = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** The call itself fails: there is no verdict. */
export interface CallStatus {
  readonly code: number;
  readonly details: string;
}

export type Answer = { readonly response: CheckResponse } | { readonly failure: CallStatus };

/** HTTP statuses of problems that are about our caller, Envoy, and not about its end client. */
const FAILURES: Readonly<Record<number, number>> = {
  401: CODES.unauthenticated,
  403: CODES.permissionDenied,
  429: CODES.resourceExhausted,
  500: CODES.internal,
};
/** What a denial may tell the end client: no numbers. */
const TOLD = new Set(["x-trust-effective", "x-trust-verdict", "x-trust-reason"]);
const TOLD_ALSO = ["cache-control", "x-request-id", "x-trust-request-id", "x-trust-review"];
TOLD.add("www-authenticate");
for (const name of TOLD_ALSO) TOLD.add(name);

/** The answer for a reply of the gateway route. */
export function buildCheckAnswer(reply: Reply): Answer {
  const headers = readReplyHeaders(reply);
  if (headers.get("x-trust-effective") !== undefined) return verdictAnswer(reply, headers);
  const problem = JSON.parse(decodeReplyBody(reply)) as Problem;
  const failure = convertProblemToCallStatus(problem);
  if (failure !== undefined) return { failure };
  return denial(CODES.invalidArgument, reply.status, told(headers), JSON.stringify(problem));
}

function convertProblemToCallStatus({
  status,
  code,
  detail,
  request_id: id,
}: Problem): CallStatus | undefined {
  const known = code === "deadline_exceeded" ? CODES.deadlineExceeded : FAILURES[status];
  if (known === undefined && status < 500) return undefined;
  return { code: known ?? CODES.unavailable, details: `${code}: ${detail} (request ${id})` };
}

function verdictAnswer(reply: Reply, headers: ReadonlyMap<string, string>): Answer {
  const fields = buildDynamicMetadata(headers);
  if (reply.status === 200) {
    const trusted = [...headers].filter(([name]) => name.startsWith("x-trust-"));
    const okResponse = { headers: trusted.map(overwriting) };
    const response = { status: { code: CODES.ok }, okResponse, dynamicMetadata: { fields } };
    return { response };
  }
  const isChallenge = reply.status === 401;
  const code = isChallenge ? CODES.unauthenticated : CODES.permissionDenied;
  const verdict = JSON.parse(decodeReplyBody(reply)) as GatewayDenial;
  const title = isChallenge ? "Unauthorized" : "Forbidden";
  const body = { type: "about:blank", title, status: reply.status, ...verdict };
  const { response } = denial(code, reply.status, told(headers), JSON.stringify(body));
  return { response: { ...response, dynamicMetadata: { fields } } };
}

function denial(
  code: number,
  status: number,
  headers: readonly [string, string][],
  body: string,
): { response: CheckResponse } {
  const all: [string, string][] = [["content-type", PROBLEM_MEDIA_TYPE], ...headers];
  const deniedResponse = { status: { code: status }, headers: all.map(overwriting), body };
  return { response: { status: { code }, deniedResponse } };
}

/** By the types of a Struct. */
function buildDynamicMetadata(headers: ReadonlyMap<string, string>) {
  const text = (name: string) => ({ stringValue: headers.get(`x-trust-${name}`) ?? "" });
  return {
    verdict: text("verdict"),
    reason: text("reason"),
    score: { numberValue: Number(headers.get("x-trust-score")) },
    tier: text("tier"),
    risk: text("risk"),
    effective: text("effective"),
    enforced: { boolValue: headers.get("x-trust-enforced") === "true" },
    request_id: text("request-id"),
  };
}

function told(headers: ReadonlyMap<string, string>): [string, string][] {
  return [...headers].filter(([name]) => TOLD.has(name));
}

/** A header that the end client sent under the same name is replaced. */
function overwriting([key, value]: readonly [string, string]): HeaderOption {
  return { header: { key, value }, append: { value: false } };
}

function readReplyHeaders({ headers }: Reply): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  for (let index = 0; index < headers.length; index += 2) {
    named.set((headers[index] as string).toLowerCase(), headers[index + 1] as string);
  }
  return named;
}

function decodeReplyBody({ body }: Reply): string {
  return typeof body === "string" ? body : Buffer.from(body).toString();
}
