// Key bindings of a page: ignored while text is typed, while a dialog is open, and for the letter of a chord.
import { useLayoutEffect } from "./html.ts";

/** Until when a letter goes with the `g` before it, in the time of events; 0 for none. */
export const pendingChord = { until: 0 };

/** Whether the key belongs to what is being typed. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  return (
    target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]")
  );
}

/** Calls the function of a key that is pressed while nothing is typed and no dialog is open. */
export function useKeyBindings(keys: Readonly<Record<string, () => void>>): void {
  // Before the page is painted: a key that is pressed as soon as a row is to be seen is heard.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const action = keys[event.key];
      const isOpen = document.querySelector("dialog[open]") !== null;
      if (action === undefined || isOpen || isTyping(event)) return;
      // The letter of a chord is no key of the page, whoever hears of it first.
      if (event.defaultPrevented || event.timeStamp < pendingChord.until) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}
