// Keys that work on every page: `g` and a letter go to a page, `/` finds the search.
import { useEffect } from "./html.ts";
import { linkTo } from "./location.ts";
import { PAGES } from "./pages.ts";

/** Longest pause between `g` and its letter. */
const CHORD_MS = 1500;

/** Until when a letter goes with the `g` before it, in the time of events; 0 for none. */
let chordUntil = 0;

/** Whether the key belongs to what is being typed. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  return (
    target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]")
  );
}

/** Calls the function of a key that is pressed while nothing is typed and no dialog is open. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const action = keys[event.key];
      const isOpen = document.querySelector("dialog[open]") !== null;
      if (action === undefined || isOpen || isTyping(event)) return;
      // The letter of a chord is no key of the page, whoever hears of it first.
      if (event.defaultPrevented || event.timeStamp < chordUntil) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}

export function useShortcuts(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || document.querySelector("dialog[open]") !== null) return;
      const isChord = event.timeStamp < chordUntil;
      chordUntil = !isChord && event.key === "g" ? event.timeStamp + CHORD_MS : 0;
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
