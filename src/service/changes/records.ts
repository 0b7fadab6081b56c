// The one table of journal records that are changes for followers: which kinds, and what each says. Free text
// and names of people stay in the journal.
import { formatCanonicalJson } from "../../contract/canonical-json.ts";
import { createHash } from "node:crypto";
import { type ConditionEvent, decodeConditionEvent } from "../../contract/conditions/events.ts";
import { isNamespacePattern } from "../../contract/identifiers.ts";
import type { KeyEvent } from "../../contract/key-events.ts";
import type { NamespaceEvent } from "../../contract/namespaces.ts";
import type { PolicyEvent } from "../../contract/policy.ts";
import type { ReviewEvent, ReviewRuling } from "../../contract/reviews/events.ts";
import type { Change } from "../../contract/schemas/changes.ts";
import { formatConfigVersion } from "../../engine/config.ts";
import { FRAME_KINDS } from "../../journal/format.ts";
import { decodeSharedChange } from "../../kaizen/service/shared-promotions.ts";
import type { AnnouncedRecord } from "../../ledger/announced-record.ts";
import { decodePolicyEvent } from "../../policy/policy-book.ts";

/** Lookups for records that name something by its id. */
export interface RecordContext {
  /** The agent of a signing key; undefined when the key is not known here yet. */
  findKeyAgent(kid: string): string | undefined;
}

type ChangeMembers = Pick<Change, "kind" | "tenant"> &
  Partial<Pick<Change, "agent" | "namespace" | "version">>;

/** A change, and what must happen on this node before it is announced. */
interface DecodedChange extends ChangeMembers {
  /** See ChangeFeed.confirmEffect; left out: in force once the record is durable. */
  readonly effect?: string;
}

/** The effect of a promotion: the scoring configuration is installed. */
export const CONFIG_EFFECT = "config";

/** The effect of a policy: every thread has been sent it. */
export function buildPolicyEffect({
  tenant,
  version,
}: Pick<PolicyEvent, "tenant" | "version">): string {
  return `policy ${version} ${tenant}`;
}

/** The effect of a review decision: every thread has been sent it. */
export function buildReviewEffect({
  tenant,
  agent,
}: Pick<ReviewRuling, "tenant" | "agent">): string {
  return `review ${agent} ${tenant}`;
}

/** The effect of a condition or a stop: every thread has been sent it. */
export function buildConditionEffect(event: ConditionEvent): string {
  const subject = "subject" in event ? event.subject : "";
  return `${event.event} ${subject} ${event.tenant ?? ""}`;
}

type RecordDecoder = (payload: Buffer, context: RecordContext) => DecodedChange | undefined;

/** By kind of record; undefined for a record that changes no verdict. A new kind is one line. */
const DECODERS: Readonly<Record<number, RecordDecoder>> = {
  [FRAME_KINDS.key]: decodeKeyChange,
  [FRAME_KINDS.namespace]: decodeNamespaceChange,
  [FRAME_KINDS.reviewEvent]: decodeReviewChange,
  [FRAME_KINDS.policy]: decodePolicyChange,
  [FRAME_KINDS.config]: decodeConfigChange,
  [FRAME_KINDS.condition]: decodeConditionChange,
};

/** Kinds of records in the table. */
export const CHANGE_RECORD_KINDS: readonly number[] = Object.keys(DECODERS).map(Number);

/** The change that a record is; undefined for none and for payloads of another release. */
export function decodeChange(
  { kind, payload }: Pick<AnnouncedRecord, "kind" | "payload">,
  context: RecordContext,
): DecodedChange | undefined {
  try {
    return DECODERS[kind]?.(Buffer.from(payload), context);
  } catch {
    return undefined;
  }
}

/** A revoked key denies its agent to every tenant, and a new one lifts that. */
function decodeKeyChange(payload: Buffer, context: RecordContext): DecodedChange {
  const event = JSON.parse(payload.toString()) as KeyEvent;
  const agent = event.event === "registered" ? event.agent : context.findKeyAgent(event.kid);
  return { kind: "key", tenant: null, agent: agent ?? null };
}

function decodeNamespaceChange(payload: Buffer): DecodedChange {
  const { namespace } = JSON.parse(payload.toString()) as NamespaceEvent;
  return { kind: "namespace", tenant: null, namespace };
}

function decodeReviewChange(payload: Buffer): DecodedChange | undefined {
  const event = JSON.parse(payload.toString()) as ReviewEvent;
  if (event.event !== "review.decided") return undefined;
  const { tenant, agent } = event;
  return { kind: "review", tenant, agent, effect: buildReviewEffect(event) };
}

function decodePolicyChange(payload: Buffer): DecodedChange {
  const event = decodePolicyEvent(payload);
  const { tenant, version } = event;
  return { kind: "policy", tenant, version, effect: buildPolicyEffect(event) };
}

function decodeConditionChange(payload: Buffer): DecodedChange {
  const event = decodeConditionEvent(payload);
  const { tenant } = event;
  const effect = buildConditionEffect(event);
  if (!("subject" in event)) return { kind: "stop", tenant, effect };
  const { subject } = event;
  if (!isNamespacePattern(subject)) return { kind: "condition", tenant, agent: subject, effect };
  const namespace = subject.slice("agent://".length, -"/*".length);
  return { kind: "condition", tenant, namespace, effect };
}

/** The payload is the configuration, or a cluster's change of it. */
function decodeConfigChange(payload: Buffer): DecodedChange | undefined {
  const { config, parent } = decodeSharedChange(payload) ?? {};
  const bytes = config === undefined ? payload : Buffer.from(formatCanonicalJson(config));
  const version = formatConfigVersion(createHash("sha256").update(bytes).digest());
  // A run that kept the configuration.
  if (version === parent) return undefined;
  return { kind: "config", tenant: null, version, effect: CONFIG_EFFECT };
}
