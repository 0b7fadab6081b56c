// Global keyboard shortcuts, and the dialog that lists all shortcuts.
// `g` and a letter open a page, `/` focuses the search field, `?` opens the dialog.
import { useEffect, useLayoutEffect, html, useRef, useState, type VNode } from "../html.ts";
import { pendingChord, isTyping, useKeyBindings } from "../key-bindings.ts";
import { linkTo, usePageLocation } from "../location.ts";
import { PAGES } from "../pages.ts";

/** Longest pause between `g` and its letter. */
const CHORD_MS = 1500;

export function useGlobalShortcuts(): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || document.querySelector("dialog[open]") !== null) return;
      const isChord = event.timeStamp < pendingChord.until;
      pendingChord.until = !isChord && event.key === "g" ? event.timeStamp + CHORD_MS : 0;
      if (isChord) event.preventDefault();
      const page = isChord && PAGES.find(({ letter }) => letter === event.key);
      if (page) location.hash = linkTo(page.name);
      else if (event.key === "/") focusSearch(event);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function focusSearch(event: KeyboardEvent): void {
  const search = document.querySelector<HTMLElement>('main input[type="search"]');
  if (search === null) return;
  event.preventDefault();
  search.focus();
}

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
