// One key with all that is known of it, what can be done to it, and the text of a new one, once.
import { html, useEffect, useRef, type VNode } from "../../html.ts";
import { formatNumber } from "../../format.ts";
import { linkTo } from "../../location.ts";
import { CopyButton } from "../../parts/actions.ts";
import { Card, FactList } from "../../parts/page.ts";
import { Tag, UntrustedText, Time } from "../../parts/words.ts";
import { readSession } from "../../session.ts";
import type { KeyAction } from "./dialogs.ts";
import {
  isOld,
  isRotating,
  UNUSED_DAYS,
  type ListedKey,
  type KeyWithSecret,
  SCOPE_WORDS,
  computeKeyState,
} from "./key-states.ts";

interface SecretCardProps {
  readonly made: KeyWithSecret;
  readonly onStored: () => void;
}

/** The text of a key: in this page's memory alone, gone with it. */
export function SecretCard({ made, onStored }: SecretCardProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), [made.key]);
  const done = html`<button type="button" onClick=${onStored}>I have stored it</button>`;
  return html`<${Card} title=${`Secret of ${made.key_id}`} tools=${done}>
    <div ref=${place} tabindex="-1" role="group" aria-label="secret">
      <p>Copy it now: it is not shown again. The service keeps a digest of it and nothing else.</p>
      <div class="code">
        <pre tabindex="0">${made.key}</pre>
        <${CopyButton} text=${made.key} />
      </div>
    </div>
  <//>`;
}

interface KeyCardProps {
  readonly target: ListedKey;
  readonly onDo: (doing: KeyAction) => void;
  readonly onClose: () => void;
}

export function KeyCard({ target, onDo, onClose }: KeyCardProps): VNode {
  const now = Date.now();
  const state = computeKeyState(target, now);
  const { key_id: id } = target;
  const act = (doing: KeyAction, label: string) =>
    html`<button type="button" onClick=${() => onDo(doing)}>${label}</button>`;
  const tools = html`
    ${state === "active" && act("rotate", "Rotate…")}
    ${state !== "revoked" && act("change", "Change…")}
    ${
      state !== "revoked" &&
      html`<button type="button" class="danger" onClick=${() => onDo("revoke")}>Revoke…</button>`
    }
    <button type="button" onClick=${onClose}>Close</button>
  `;
  return html`<${Card} title=${html`Key <code>${id}</code>`} tools=${tools}>
    <${FactList}
      facts=${[
        ["label", html`<${UntrustedText} text=${target.label} />`],
        [
          "tenant",
          html`<a href=${linkTo("keys", { tenant: target.tenant })}
            ><${UntrustedText} text=${target.tenant}
          /></a>`,
        ],
        ["state", html`<${KeyStateTag} target=${target} />`],
        ["created", html`<${Time} at=${target.created_at} as="full" />`],
        ["ends", renderKeyExpiry(target)],
        ["revoked", html`<${Time} at=${target.revoked_at} as="full" />`],
        ["last use", renderLastUse(target)],
        ["secret since", html`<${Time} at=${target.rotated_at ?? target.created_at} as="full" />`],
        [
          "earlier secret works until",
          html`<${Time} at=${isRotating(target, now) ? target.overlap_ends_at : null} as="full" />`,
        ],
        ["first party", target.first_party ? "yes" : "no"],
        ["asserts properties", target.asserts_properties ? "yes" : "no"],
        ["shadow", target.is_shadow ? "yes: verdicts are given, not enforced" : "no"],
        ...listKeyLimits(target),
      ]}
    />
    <h3>What it may do</h3>
    <ul class="scopes">
      ${target.scopes.map((scope) => html`<li><${Tag} word=${scope} /> ${SCOPE_WORDS[scope]}</li>`)}
    </ul>
    <p>
      <a href=${linkTo("audit", { actor: id, since: "30d" })}>What it did</a>${" · "}
      <a href=${linkTo("audit", { text: id, since: "30d" })}>What was done to it, or refused</a>
      ${readSession()?.key_id === id && html`${" · "}<b>this session's key</b>`}
    </p>
  <//>`;
}

function listKeyLimits({ minimum_scores: minimums, query_seconds_max: seconds }: ListedKey) {
  const scores = Object.entries(minimums).map(
    ([level, score]) => `${level} ${formatNumber(score)}`,
  );
  const time = seconds === null ? "no limit of its own" : `${formatNumber(seconds)} s`;
  return [
    ["minimum scores", scores.join(", ")],
    ["longest work of a query", time],
  ] as const;
}

export function KeyStateTag({ target }: { target: ListedKey }): VNode {
  const state = computeKeyState(target, Date.now());
  const isOverlapping = isRotating(target, Date.now());
  return html`<${Tag} word=${state} tone=${state === "expired" ? "warn" : undefined} />
    ${isOverlapping && html` <${Tag} word="two secrets" tone="warn" />`}`;
}

export function renderKeyExpiry({ expires_at: at }: ListedKey): VNode {
  return at === null ? html`<span class="dim">never</span>` : html`<${Time} at=${at} as="ago" />`;
}

/** Left out while the store cannot say; null where there was none in 90 days. */
export function renderLastUse(target: ListedKey): VNode {
  const { last_used_at: at } = target;
  if (at === undefined) return html`<span class="dim">not known yet</span>`;
  if (at === null) {
    const words = isOld(target, Date.now()) ? `not in ${UNUSED_DAYS} days` : "not used yet";
    return html`<span class="dim">${words}</span>`;
  }
  return html`<${Time} at=${at} as="ago" />`;
}
