// Questions that were asked in this browser, newest first; nothing of their answers is kept.

const KEY = "trustrank.sql";
const KEPT_MAX = 40;
const LENGTH_MAX = 20_000;

/** What storage holds; nothing where the browser keeps none or holds something else. */
export function pastQuestions(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

/** Puts a question first, and returns them all. */
export function remember(sql: string): string[] {
  const others = pastQuestions().filter((each) => each !== sql);
  const questions = sql.length > LENGTH_MAX ? others : [sql, ...others].slice(0, KEPT_MAX);
  try {
    localStorage.setItem(KEY, JSON.stringify(questions));
  } catch {
    // Without storage there is no history.
  }
  return questions;
}

export function forgetQuestions(): string[] {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // As above.
  }
  return [];
}
