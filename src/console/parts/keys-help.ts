// The keys of the console: a dialog that `?` opens.
import { html, useEffect, useRef, useState, type VNode } from "../html.ts";
import { usePageLocation } from "../location.ts";
import { PAGES } from "../pages.ts";
import { useKeyBindings } from "../keys.ts";

const GLOBAL_SHORTCUTS: readonly (readonly [string, string])[] = [
  ["/", "find the search"],
  ["?", "these keys"],
  ["Esc", "close a dialog"],
];

/** Opens by `?`; holds nothing until then. */
export function ShortcutsHelp(): VNode | null {
  const [isOpen, setIsOpen] = useState(false);
  useKeyBindings({ "?": () => setIsOpen(true) });
  return isOpen ? html`<${ShortcutsDialog} onClose=${() => setIsOpen(false)} />` : null;
}

function ShortcutsDialog({ onClose }: { onClose: () => void }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const { page: current } = usePageLocation();
  useEffect(() => dialog.current?.showModal(), []);
  const own = PAGES.find(({ name }) => name === current)?.shortcuts ?? [];
  const pages = PAGES.filter(({ letter }) => letter !== undefined);
  return html`<dialog ref=${dialog} aria-labelledby="keys-title" onClose=${onClose}>
    <h2 id="keys-title">Keys</h2>
    <dl class="facts keys">
      ${[...own, ...GLOBAL_SHORTCUTS].map(
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
