// Citations of docs/ in source text: `SPEC §2.5` names a section of docs/contract.md, `(scoring 2.2)`
// one of docs/design/scoring.md. Section marks of other documents (RFC 9110 §5.6.1) are theirs.

/** A section that a text cites; `page` is no path where the citation is not in the agreed form. */
export interface Citation {
  readonly page: string;
  readonly section: string;
}

/** A section mark belongs to the document named at most so many characters before it. */
const REACH = 120;
const SECTION_MARK = /\b(SPEC|RFC \d+|AuthZEN)\b|§\s?(\d+(?:\.\d+)*)/g;
/** The agreed form, and those that were in use before it. */
const DESIGN_MARK = /\b(scoring|kaizen|provenance|evidence)(?:\.md|\sdesign)? §?(\d+(?:\.\d+)*)/g;
const DESIGN_MORE = /(?:,|\sand)\s(\d+(?:\.\d+)*)/y;

/** Every citation in a TypeScript text; those of design pages only where a comment holds them. */
export function citationsIn(text: string): Citation[] {
  const unwrapped = text.replaceAll(/\n\s*(?:\/\/|\*(?!\/))[ ]?/g, " ");
  const comments = unwrapped.match(/\/\/[^\n]*|\/\*[^]*?\*\//g) ?? [];
  return [...contractCitations(unwrapped), ...comments.flatMap(designCitations)];
}

function contractCitations(text: string): Citation[] {
  const found: Citation[] = [];
  let last = { name: "", at: Number.NEGATIVE_INFINITY };
  for (const { 1: name, 2: section, index } of text.matchAll(SECTION_MARK)) {
    if (section === undefined) last = { name: name!, at: index };
    else if (index - last.at > REACH) found.push({ page: "no document named before §", section });
    else if (last.name === "SPEC") found.push({ page: "docs/contract.md", section });
  }
  return found;
}

/** `(scoring 3 and 4)`, `(kaizen 6.4, 6.5: why)`, `(scoring 4, kaizen 6.3)`. */
function designCitations(comment: string): Citation[] {
  const found: Citation[] = [];
  for (const { 0: mark, 1: name, 2: section, index } of comment.matchAll(DESIGN_MARK)) {
    const isRegular = mark === `${name} ${section}`;
    const page = isRegular ? `docs/design/${name}.md` : `not of the form (${name} ${section})`;
    found.push({ page, section: section! });
    DESIGN_MORE.lastIndex = index + mark.length;
    for (let more = DESIGN_MORE.exec(comment); more !== null; more = DESIGN_MORE.exec(comment)) {
      found.push({ page, section: more[1]! });
    }
  }
  return found;
}

/** Numbers of the numbered headings of a Markdown page: `## 2.2 Weights` has `2.2`. */
export function numberedHeadings(page: string): ReadonlySet<string> {
  return new Set([...page.matchAll(/^#+ (\d+(?:\.\d+)*)\.? /gm)].map(([, number]) => number!));
}
