// Slow reference of the names of scored agents: the form of an agent identifier as a list of segments,
// and what only reads like one, by folding the whole text and looking at its beginning.

const SEGMENT = /^[A-Za-z0-9._~-]{1,128}$/;

/** Whether a line of text may name a scored agent: the form, or nothing that reads like it. */
export function isSoundName(text: string): boolean {
  if (Buffer.byteLength(text) > 512 || text === "") return false;
  if (text.startsWith("agent://")) return isFormedAgent(text);
  return !foldWhole(text).startsWith("agent:");
}

/** Whether the text is an agent identifier. */
export function isFormedAgent(text: string): boolean {
  if (!text.startsWith("agent://") || Buffer.byteLength(text) > 512) return false;
  const segments = text.slice("agent://".length).split("/");
  const isFit = (each: string) => SEGMENT.test(each) && each !== "." && each !== "..";
  return segments.length > 1 && segments.every(isFit);
}

/** Percent-decoded once byte by byte, NFKC, without invisible characters and space at the ends, small. */
function foldWhole(text: string): string {
  const bytes: number[] = [];
  const source = Buffer.from(text);
  for (let index = 0; index < source.length; index += 1) {
    const pair = source.subarray(index + 1, index + 3).toString("latin1");
    if (source[index] === 0x25 && /^[0-9a-f]{2}$/i.test(pair)) {
      bytes.push(Number.parseInt(pair, 16));
      index += 2;
    } else {
      bytes.push(source[index]!);
    }
  }
  const decoded = Buffer.from(bytes).toString().normalize("NFKC");
  return decoded
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .trim()
    .toLowerCase();
}
