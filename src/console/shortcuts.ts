// Keys that work on every page: `g` and a letter go to a page, `/` finds the search.
import { useEffect } from "./html.ts";
import { pendingChord, isTyping } from "./keys.ts";
import { linkTo } from "./location.ts";
import { PAGES } from "./pages.ts";

/** Longest pause between `g` and its letter. */
const CHORD_MS = 1500;

export function useGlobalShortcuts(): void {
  useEffect(() => {
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
