// One key with all that is known of it, what can be done to it, and the text of a new one, once.
import { html, useEffect, useRef, type VNode } from "../../html.ts";
import { number } from "../../format.ts";
import { linkTo } from "../../location.ts";
import { Copy } from "../../parts/actions.ts";
import { Card, Facts } from "../../parts/page.ts";
import { Tag, Text, Time } from "../../parts/words.ts";
import { session } from "../../session.ts";
import type { Doing } from "./dialogs.ts";
import {
  isRotating,
  type Key,
  type KeyWithSecret,
  SCOPE_WORDS,
  computeKeyState,
} from "./shapes.ts";

interface SecretProps {
  readonly made: KeyWithSecret;
  readonly onStored: () => void;
}

/** The text of a key: in this page's memory alone, gone with it. */
export function Secret({ made, onStored }: SecretProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), [made.key]);
  const done = html`<button type="button" onClick=${onStored}>I have stored it</button>`;
  return html`<${Card} title=${`Secret of ${made.key_id}`} tools=${done}>
    <div ref=${place} tabindex="-1" role="group" aria-label="secret">
      <p>Copy it now: it is not shown again. The service keeps a digest of it and nothing else.</p>
      <div class="code">
        <pre tabindex="0">${made.key}</pre>
        <${Copy} text=${made.key} />
      </div>
    </div>
  <//>`;
}

interface PanelProps {
  readonly target: Key;
  readonly onDo: (doing: Doing) => void;
  readonly onClose: () => void;
}

export function Panel({ target, onDo, onClose }: PanelProps): VNode {
  const now = Date.now();
  const state = computeKeyState(target, now);
  const { key_id: id, minimum_scores: minimums } = target;
  const act = (doing: Doing, label: string) =>
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
    <${Facts}
      facts=${[
        ["label", html`<${Text} text=${target.label} />`],
        [
          "tenant",
          html`<a href=${linkTo("keys", { tenant: target.tenant })}
            ><${Text} text=${target.tenant}
          /></a>`,
        ],
        ["state", html`<${StateTag} target=${target} />`],
        ["created", html`<${Time} at=${target.created_at} as="full" />`],
        ["ends", endWords(target)],
        ["revoked", html`<${Time} at=${target.revoked_at} as="full" />`],
        ["last use", useWords(target)],
        ["secret since", html`<${Time} at=${target.rotated_at ?? target.created_at} as="full" />`],
        [
          "earlier secret works until",
          html`<${Time} at=${isRotating(target, now) ? target.overlap_ends_at : null} as="full" />`,
        ],
        ["first party", target.first_party ? "yes" : "no"],
        ["shadow", target.is_shadow ? "yes: verdicts are given, not enforced" : "no"],
        [
          "minimum scores",
          Object.entries(minimums)
            .map(([level, score]) => `${level} ${number(score)}`)
            .join(", "),
        ],
      ]}
    />
    <h3>What it may do</h3>
    <ul class="scopes">
      ${target.scopes.map((scope) => html`<li><${Tag} word=${scope} /> ${SCOPE_WORDS[scope]}</li>`)}
    </ul>
    <p>
      <a href=${linkTo("audit", { actor: id, since: "30d" })}>What it did</a>${" · "}
      <a href=${linkTo("audit", { text: id, since: "30d" })}>What was done to it, or refused</a>
      ${session()?.key_id === id && html`${" · "}<b>this session's key</b>`}
    </p>
  <//>`;
}

export function StateTag({ target }: { target: Key }): VNode {
  const state = computeKeyState(target, Date.now());
  const isOverlapping = isRotating(target, Date.now());
  return html`<${Tag} word=${state} tone=${state === "expired" ? "warn" : undefined} />
    ${isOverlapping && html` <${Tag} word="two secrets" tone="warn" />`}`;
}

export function endWords({ expires_at: at }: Key): VNode {
  return at === null ? html`<span class="dim">never</span>` : html`<${Time} at=${at} as="ago" />`;
}

/** Left out while the store cannot say; null where there was none in 90 days. */
export function useWords({ last_used_at: at }: Key): VNode {
  if (at === undefined) return html`<span class="dim">not known yet</span>`;
  if (at === null) return html`<span class="dim">not in 90 days</span>`;
  return html`<${Time} at=${at} as="ago" />`;
}
