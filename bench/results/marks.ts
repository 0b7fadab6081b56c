// Places in RESULTS.md that a suite's figures stand in, between two marks by the suite's name:
// `<!-- figures: http -->` and `<!-- end: http -->`. All other text is people's.

const opening = (suite: string): string => `<!-- figures: ${suite} -->`;
const closing = (suite: string): string => `<!-- end: ${suite} -->`;

/** Whether the page has a place for a suite. */
export function hasPlace(page: string, suite: string): boolean {
  return page.includes(opening(suite));
}

/** The page with new figures of a suite. @throws Error when the place is not there, or has no end. */
export function withFigures(page: string, suite: string, figures: string): string {
  const from = page.indexOf(opening(suite));
  const to = page.indexOf(closing(suite));
  if (from < 0 || to < from) throw new Error(`the page has no place for \`${suite}\``);
  const start = from + opening(suite).length;
  return `${page.slice(0, start)}\n\n${figures.trim()}\n\n${page.slice(to)}`;
}
