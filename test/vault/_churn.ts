// Pages that change all the time, each in words of its own: any version of a page that a reader
// sees supports the claims on that page, and no version of another page does.

export const PAGES = 6;

/** A word of letters alone that no other page uses. */
function wordOf(page: number, at: number): string {
  const letters = "bcdfghjklmnpqrstvw";
  const pick = (place: number) => letters[(page * 3 + at * 7 + place * 5 + page * place) % 18]!;
  return `x${pick(0)}a${pick(1)}e${pick(2)}o${pick(3)}${letters[page]!}${letters[page + 6]!}`;
}

function claimOf(page: number): string {
  const words = Array.from({ length: 8 }, (_, at) => wordOf(page, at));
  return `The ${words.join(" and ")} stand here.`;
}

/** Longer and shorter from version to version, so that blocks of every size come and go. */
export function pageText(page: number, version: number): string {
  const filler = Array.from({ length: (version * 29) % 160 }, (_, at) => {
    return `Remark ${at * version} of ${wordOf(page, at + 9)} follows.`;
  });
  return `${filler.join(" ")} ${claimOf(page)} Version ${version}.`;
}

export function contextOf(page: number) {
  return { content: claimOf(page), cited_sources: [`page-${page}`] };
}
