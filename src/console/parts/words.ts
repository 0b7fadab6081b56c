// Small pieces of text: times, tags, agents, whatever strangers wrote.
import type { Disposition } from "../../contract/decisions.ts";
import { formatRelativeTime, escapeHiddenCharacters } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo } from "../location.ts";

/** Text from agents and reporters: isolated, with unseen characters as escapes. */
export function UntrustedText({ text }: { text: string | null | undefined }): VNode {
  return html`<bdi>${escapeHiddenCharacters(text ?? "–")}</bdi>`;
}

/** Characters of a name in a list; of a longer one the middle is left out. */
const NAME_LENGTH_MAX = 60;
const NAME_END_LENGTH = 24;

/** The name of an agent for a list, without its scheme; its beginning and its end where it is long. */
export function shortenName(id: string): string {
  const name = escapeHiddenCharacters(id).replace(/^agent:\/\//, "");
  if (name.length <= NAME_LENGTH_MAX) return name;
  return `${name.slice(0, NAME_LENGTH_MAX - NAME_END_LENGTH - 1)}…${name.slice(-NAME_END_LENGTH)}`;
}

/** An agent's identifier, linked to its page or to `href`; the title has all of it. */
export function AgentLink({ id, href = linkTo("agent", { id }) }: { id: string; href?: string }) {
  return html`<a class="agent" href=${href} title=${escapeHiddenCharacters(id)}>
    <bdi>${shortenName(id)}</bdi>
  </a>`;
}

/** The four outcomes of a decision in words, each with its colour. */
export const DISPOSITION_WORDS: Readonly<
  Record<Disposition, readonly [words: string, tone: "allow" | "warn" | "person" | "deny"]>
> = {
  allow: ["allowed", "allow"],
  step_up: ["step-up", "warn"],
  person: ["person", "person"],
  refuse: ["refused", "deny"],
};
const DISPOSITION_BY_WORD: Readonly<Record<string, Disposition>> = {
  ALLOW: "allow",
  connect: "allow",
  CHALLENGE: "step_up",
  connect_with_verification: "step_up",
  escalate: "person",
  QUARANTINE: "refuse",
  BLOCK: "refuse",
  refuse: "refuse",
};

interface AnswerTagProps {
  /** Verdict of a verify, decision of a connection. */
  readonly word: string;
  /** By the word unless given: a challenge may wait for a person. */
  readonly disposition?: Disposition | undefined;
}

/** An answer as the outcome that it is for the caller, and the word of the API. */
export function AnswerTag({
  word,
  disposition = DISPOSITION_BY_WORD[word],
}: AnswerTagProps): VNode {
  if (disposition === undefined) return html`<${Tag} word=${word} />`;
  const [words, tone] = DISPOSITION_WORDS[disposition];
  return html`<span class="answer"
    ><${Tag} word=${words} tone=${tone} />${" "}<span class="dim small"
      >${breakAtUnderscores(word)}</span
    ></span
  >`;
}

/** A code that may be broken where its words meet. */
export function breakAtUnderscores(code: string): VNode {
  const words = code.split("_");
  return html`${words.map((word, at) => (at === 0 ? word : html`_<wbr />${word}`))}`;
}

/** Why a decision came out as it did, in the colour of its outcome. */
export function WhySentence(props: { why: string; disposition: Disposition }): VNode {
  const [, tone] = DISPOSITION_WORDS[props.disposition];
  return html`<p class=${`why ${tone}`}><${UntrustedText} text=${props.why} /></p>`;
}

const TONE_BY_WORD: Readonly<Record<string, string>> = {
  allow: "allow",
  accept: "allow",
  ok: "allow",
  passed: "allow",
  active: "allow",
  ready: "allow",
  pending: "warn",
  open: "warn",
  undecided: "warn",
  deny: "deny",
  decline: "deny",
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
  const disposition = DISPOSITION_BY_WORD[word];
  const own = disposition === undefined ? TONE_BY_WORD[word] : DISPOSITION_WORDS[disposition][1];
  return html`<span class=${`tag ${tone ?? own ?? ""}`}>${escapeHiddenCharacters(word)}</span>`;
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
