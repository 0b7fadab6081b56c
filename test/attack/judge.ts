// Oracle of the attacks on the HTTP face: what any reply to any request has to be. No failure of the
// service's own, every refusal a well-formed problem that tells no secret, an answer in time.
import { stretched } from "../_patience.ts";
import type { NoReply, WireReply } from "./wire.ts";

/** Of an answer to one request in ms on an idle machine, unless the route has a longer deadline. */
const REPLY_MS_MAX = stretched(5000);
/** Of imports and back-tests, whose deadlines are longer. */
const SLOW_REPLY_MS_MAX = stretched(32_000);
const SLOW = /\/(import|backtest|labels|batch|run)\b|\/v1\/(query|export)/;

/** Refusals that the service documents with a status of 500 and above. */
const DOCUMENTED = new Set([
  "deadline_exceeded",
  "overloaded",
  "draining",
  "journal_unavailable",
  "store_behind",
  "store_unavailable",
]);

/** Traces of what must not leave the process: stacks, file names, key secrets. */
const SECRETS = /\bat (?:\S+ \()?(?:file|node):|node_modules|\/src\/\w+\/|tr_\w+_\w{10}_\w{43}/;

export interface Judged {
  readonly path: string;
  readonly method: string;
}

/** What is wrong with a reply; undefined when it is as any reply has to be. */
export function faultIn(
  reply: WireReply | NoReply,
  { path, method }: Judged,
  codes: ReadonlySet<string>,
): string | undefined {
  if (typeof reply === "string") return `no reply: ${reply}`;
  const { status, headers, body, ms } = reply;
  const limitMs = SLOW.test(path) ? SLOW_REPLY_MS_MAX : REPLY_MS_MAX;
  if (ms > limitMs) return `answered ${status} after ${Math.round(ms)} ms`;
  if (status < 200 || status > 599) return `status ${status}`;
  const type = headers.get("content-type") ?? "";
  if (method === "HEAD") return status >= 500 ? `status ${status}` : undefined;
  if (status < 400) return faultInDocument(type, body);
  // A refused handshake and a gateway's denial are verdicts, not errors.
  if (status === 403 && /^application\/(?:json|msgpack)$/.test(type)) return undefined;
  if (type !== "application/problem+json") return `${status} of type ${JSON.stringify(type)}`;
  return faultInProblem(status, body.toString("utf8"), codes);
}

function faultInDocument(type: string, body: Buffer): string | undefined {
  if (!type.startsWith("application/json")) return undefined;
  if (body.byteLength === 0) return undefined;
  try {
    JSON.parse(body.toString("utf8"));
    return undefined;
  } catch {
    return "the reply is not JSON";
  }
}

function faultInProblem(
  status: number,
  text: string,
  codes: ReadonlySet<string>,
): string | undefined {
  let problem: Record<string, unknown>;
  try {
    problem = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return `${status}: the problem is not JSON`;
  }
  const { type, title, status: stated, detail, code, request_id: id } = problem;
  if (typeof code !== "string" || !codes.has(code))
    return `${status}: unknown code ${String(code)}`;
  if (status >= 500 && !DOCUMENTED.has(code) && status !== 507) return `${status} ${code}: ${text}`;
  if (stated !== status) return `${code}: says ${String(stated)}, came as ${status}`;
  if (type !== `urn:trustrank:problem:${code}`) return `${code}: type ${String(type)}`;
  if (typeof title !== "string" || typeof id !== "string" || id === "")
    return `${code}: incomplete`;
  if (typeof detail !== "string" || /[\r\n]/.test(detail))
    return `${code}: detail of several lines`;
  if (SECRETS.test(text)) return `${code}: tells of the inside: ${text.slice(0, 200)}`;
  return undefined;
}

/** The code of a problem; empty for any other reply. */
export function codeOf(reply: WireReply | NoReply): string {
  if (typeof reply === "string") return reply;
  return /"code":"(\w+)"/.exec(reply.body.toString("utf8"))?.[1] ?? "";
}
