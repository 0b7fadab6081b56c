// The keys of the console: a dialog that `?` opens.
import { html, useEffect, useRef, useState, type VNode } from "../html.ts";
import { usePlace } from "../location.ts";
import { PAGES } from "../pages.ts";
import { useKeys } from "../keys.ts";

const EVERYWHERE: readonly (readonly [string, string])[] = [
  ["/", "find the search"],
  ["?", "these keys"],
  ["Esc", "close a dialog"],
];

/** Opens by `?`; holds nothing until then. */
export function KeysHelp(): VNode | null {
  const [isOpen, setIsOpen] = useState(false);
  useKeys({ "?": () => setIsOpen(true) });
  return isOpen ? html`<${Keys} onClose=${() => setIsOpen(false)} />` : null;
}

function Keys({ onClose }: { onClose: () => void }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const { page: current } = usePlace();
  useEffect(() => dialog.current?.showModal(), []);
  const own = PAGES.find(({ name }) => name === current)?.keys ?? [];
  const pages = PAGES.filter(({ letter }) => letter !== undefined);
  return html`<dialog ref=${dialog} aria-labelledby="keys-title" onClose=${onClose}>
    <h2 id="keys-title">Keys</h2>
    <dl class="facts keys">
      ${[...own, ...EVERYWHERE].map(
        ([key, what]) =>
          html`<div>
            <dt><kbd>${key}</kbd></dt>
            <dd>${what}</dd>
          </div>`,
      )}
      ${pages.map(
        ({ letter, label }) =>
          html`<div>
            <dt><kbd>g</kbd> <kbd>${letter}</kbd></dt>
            <dd>${label}</dd>
          </div>`,
      )}
    </dl>
    <div class="tools">
      <button type="button" onClick=${() => dialog.current?.close()}>Close</button>
    </div>
  </dialog>`;
}
