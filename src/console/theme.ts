// Light or dark: as the system says, unless chosen here.
const KEY = "trustrank.theme";
export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export function theme(): Theme {
  const kept = read();
  return THEMES.find((each) => each === kept) ?? "auto";
}

/** Chooses, keeps and applies it; charts are told by the event `themechange`. */
export function setTheme(next: Theme): void {
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser may keep nothing: it holds for this visit then.
  }
  applyTheme(next);
  dispatchEvent(new Event("themechange"));
}

export function applyTheme(next: Theme = theme()): void {
  if (next === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Value of a colour of the style sheet, for canvases. */
export function readThemeColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
