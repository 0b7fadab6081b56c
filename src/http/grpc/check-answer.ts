// The gateway route's reply as Envoy's check response. Verdicts and invalid requests deny. Faults on our side (key,
// limits, deadline, overload) become a gRPC status, so that Envoy's `failure_mode_allow` decides as if the service
// were down.
import type { Problem } from "../../contract/schemas/service.ts";
import type { GatewayDenial } from "../../contract/schemas/scores.ts";
import { PROBLEM_MEDIA_TYPE } from "../codec/reply.ts";
import type { Reply } from "../server/port.ts";
import type { EnvoyCheckResponse, HeaderOption } from "./messages.ts";

/** Codes of google.rpc.Code that are used here. */
export const GRPC_CODES = {
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
export interface GrpcCallStatus {
  readonly code: number;
  readonly details: string;
}

export type EnvoyCheckAnswer =
  | { readonly response: EnvoyCheckResponse }
  | { readonly failure: GrpcCallStatus };

/** HTTP statuses of problems that are about our caller, Envoy, and not about its end client. */
const GRPC_CODE_BY_STATUS: Readonly<Record<number, number>> = {
  401: GRPC_CODES.unauthenticated,
  403: GRPC_CODES.permissionDenied,
  429: GRPC_CODES.resourceExhausted,
  500: GRPC_CODES.internal,
};
/** What a denial may tell the end client: no numbers. */
const DENIAL_HEADERS = new Set(["x-trust-effective", "x-trust-verdict", "x-trust-reason"]);
const EXTRA_DENIAL_HEADERS = [
  "cache-control",
  "x-request-id",
  "x-trust-request-id",
  "x-trust-review",
];
DENIAL_HEADERS.add("www-authenticate");
for (const name of EXTRA_DENIAL_HEADERS) DENIAL_HEADERS.add(name);

/** For the application and the end client alike, as the other gateways' examples do. */
const FLAG_HEADER = "x-trust-flagged";

/** The answer for a reply of the gateway route. */
export function buildCheckAnswer(reply: Reply): EnvoyCheckAnswer {
  const headers = readReplyHeaders(reply);
  if (headers.get("x-trust-effective") !== undefined) return buildVerdictAnswer(reply, headers);
  const problem = JSON.parse(decodeReplyBody(reply)) as Problem;
  const failure = convertProblemToCallStatus(problem);
  if (failure !== undefined) return { failure };
  return buildDenial(
    GRPC_CODES.invalidArgument,
    reply.status,
    selectDenialHeaders(headers),
    JSON.stringify(problem),
  );
}

function convertProblemToCallStatus({
  status,
  code,
  detail,
  request_id: id,
}: Problem): GrpcCallStatus | undefined {
  const known =
    code === "deadline_exceeded" ? GRPC_CODES.deadlineExceeded : GRPC_CODE_BY_STATUS[status];
  if (known === undefined && status < 500) return undefined;
  return { code: known ?? GRPC_CODES.unavailable, details: `${code}: ${detail} (request ${id})` };
}

function buildVerdictAnswer(reply: Reply, headers: ReadonlyMap<string, string>): EnvoyCheckAnswer {
  const fields = buildDynamicMetadata(headers);
  if (reply.status === 200) {
    const trusted = [...headers].filter(([name]) => name.startsWith("x-trust-"));
    const okResponse = {
      headers: trusted.map(createOverwritingHeader),
      responseHeadersToAdd: trusted
        .filter(([name]) => name === FLAG_HEADER)
        .map(createOverwritingHeader),
    };
    const response = { status: { code: GRPC_CODES.ok }, okResponse, dynamicMetadata: { fields } };
    return { response };
  }
  const isChallenge = reply.status === 401;
  const code = isChallenge ? GRPC_CODES.unauthenticated : GRPC_CODES.permissionDenied;
  const verdict = JSON.parse(decodeReplyBody(reply)) as GatewayDenial;
  const title = isChallenge ? "Unauthorized" : "Forbidden";
  const body = { type: "about:blank", title, status: reply.status, ...verdict };
  const { response } = buildDenial(
    code,
    reply.status,
    selectDenialHeaders(headers),
    JSON.stringify(body),
  );
  return { response: { ...response, dynamicMetadata: { fields } } };
}

function buildDenial(
  code: number,
  status: number,
  headers: readonly [string, string][],
  body: string,
): { response: EnvoyCheckResponse } {
  const all: [string, string][] = [["content-type", PROBLEM_MEDIA_TYPE], ...headers];
  const deniedResponse = {
    status: { code: status },
    headers: all.map(createOverwritingHeader),
    body,
  };
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
    flagged: { boolValue: headers.has(FLAG_HEADER) },
    enforced: { boolValue: headers.get("x-trust-enforced") === "true" },
    request_id: text("request-id"),
  };
}

function selectDenialHeaders(headers: ReadonlyMap<string, string>): [string, string][] {
  return [...headers].filter(([name]) => DENIAL_HEADERS.has(name));
}

/** A header that the end client sent under the same name is replaced. */
function createOverwritingHeader([key, value]: readonly [string, string]): HeaderOption {
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
