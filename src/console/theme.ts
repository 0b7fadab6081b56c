// Light or dark: as the system says, unless chosen here.
const THEME_STORAGE_KEY = "trustrank.theme";
export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export function readTheme(): Theme {
  const kept = readStoredTheme();
  return THEMES.find((each) => each === kept) ?? "auto";
}

/** Chooses, keeps and applies it. */
export function setTheme(next: Theme): void {
  try {
    localStorage.setItem(THEME_STORAGE_KEY, next);
  } catch {
    // A browser may keep nothing: it holds for this visit then.
  }
  applyTheme(next);
}

export function applyTheme(next: Theme = readTheme()): void {
  if (next === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
}

function readStoredTheme(): string | null {
  try {
    return localStorage.getItem(THEME_STORAGE_KEY);
  } catch {
    return null;
  }
}
