// Keys of a page, apart from those that work on every page (shortcuts.ts), which know all pages.
import { useEffect } from "./html.ts";

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
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}
