// Small pieces of text: times, tags, agents, whatever strangers wrote.
import { formatRelativeTime, escapeHiddenCharacters } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo } from "../location.ts";

/** Text from agents and reporters: isolated, with unseen characters as escapes. */
export function UntrustedText({ text }: { text: string | null | undefined }): VNode {
  return html`<bdi>${escapeHiddenCharacters(text ?? "–")}</bdi>`;
}

/** An agent's identifier, linked to its page. */
export function AgentLink({ id }: { id: string }): VNode {
  return html`<a class="agent" href=${linkTo("agent", { id })} title=${escapeHiddenCharacters(id)}>
    <bdi>${escapeHiddenCharacters(id).replace(/^agent:\/\//, "")}</bdi>
  </a>`;
}

const TONE_BY_WORD: Readonly<Record<string, string>> = {
  ALLOW: "allow",
  allow: "allow",
  connect: "allow",
  accept: "allow",
  ok: "allow",
  passed: "allow",
  active: "allow",
  ready: "allow",
  CHALLENGE: "warn",
  QUARANTINE: "warn",
  escalate: "warn",
  connect_with_verification: "warn",
  pending: "warn",
  open: "warn",
  undecided: "warn",
  BLOCK: "deny",
  deny: "deny",
  decline: "deny",
  refuse: "deny",
  failed: "deny",
  revoked: "deny",
};

export const TIER_TONES: Readonly<Record<string, "allow" | "warn" | "deny">> = {
  A: "allow",
  B: "allow",
  C: "warn",
  D: "deny",
};

/** A word in a pill, coloured by what it means; `tone` overrides that. */
export function Tag({ word, tone }: { word: string; tone?: string }): VNode {
  return html`<span class=${`tag ${tone ?? TONE_BY_WORD[word] ?? ""}`}
    >${escapeHiddenCharacters(word)}</span
  >`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

interface TimeProps {
  /** RFC 3339 or epoch ms. */
  readonly at: string | number | null | undefined;
  /** `clock`: today the time alone; `ago`: how long ago; `full`: date and time. */
  readonly as?: "clock" | "ago" | "full";
}

/** A time as the reader's clock shows it, with UTC in the title. */
export function Time({ at, as = "clock" }: TimeProps): VNode {
  if (at === null || at === undefined) return html`<span class="dim">–</span>`;
  // The store's times come without a zone: they are UTC.
  const hasZone = typeof at === "number" || /(?:Z|[+-]\d\d:?\d\d)$/.test(at);
  const date = new Date(hasZone ? at : `${at.replace(" ", "T")}Z`);
  if (Number.isNaN(date.getTime())) return html`<span>${String(at)}</span>`;
  const utc = date.toISOString();
  return html`<time datetime=${utc} title=${`${utc.replace("T", " ")} UTC`}
    >${formatTime(date, as)}</time
  >`;
}

function formatTime(date: Date, as: TimeProps["as"]): string {
  if (as === "full") return FULL.format(date);
  if (as === "ago") return formatRelativeTime(date.getTime(), Date.now());
  const isToday = new Date().toDateString() === date.toDateString();
  return isToday ? CLOCK.format(date) : `${DAY.format(date)} ${CLOCK.format(date).slice(0, 5)}`;
}
