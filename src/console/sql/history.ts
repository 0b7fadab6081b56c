// Questions that were asked in this browser, newest first; nothing of their answers is kept.

const HISTORY_STORAGE_KEY = "trustrank.sql";
const KEPT_MAX = 40;
const LENGTH_MAX = 20_000;

/** What storage holds; nothing where the browser keeps none or holds something else. */
export function readPastQueries(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(HISTORY_STORAGE_KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

/** Puts a question first, and returns them all. */
export function savePastQuery(sql: string): string[] {
  const others = readPastQueries().filter((each) => each !== sql);
  const questions = sql.length > LENGTH_MAX ? others : [sql, ...others].slice(0, KEPT_MAX);
  try {
    localStorage.setItem(HISTORY_STORAGE_KEY, JSON.stringify(questions));
  } catch {
    // Without storage there is no history.
  }
  return questions;
}

export function clearPastQueries(): string[] {
  try {
    localStorage.removeItem(HISTORY_STORAGE_KEY);
  } catch {
    // As above.
  }
  return [];
}
