// SECURITY.md and the attack suite name each other: every attack that the page names is played, and every
// attack that is played stands on the page. Its paths are held by the test of the pages.
import { describe, expect, it } from "vitest";
import { ATTACKS } from "../attack/attacks.ts";
import { readPage } from "./_generated.ts";
import { rowsUnder } from "./_tables.ts";

describe("SECURITY.md", () => {
  const rows = rowsUnder(readPage("SECURITY.md"), "## What shows it");
  const named = new Set(
    rows.flatMap(([, , attacks = ""]) =>
      [...attacks.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name!),
    ),
  );

  it("has each risk of the list, with an attack and a test", () => {
    expect(rows.length).toBeGreaterThanOrEqual(10);
    const bare = rows.filter(
      ([, , attacks, tests]) => !attacks?.includes("`") || !tests?.includes("`"),
    );
    expect(bare).toEqual([]);
  });

  it("names the attacks that are played, all of them and no other", () => {
    const played = ATTACKS.map(({ name }) => name);
    expect(played.filter((name) => !named.has(name))).toEqual([]);
    const unknown = [...named].filter((name) => !played.includes(name));
    expect(unknown).toEqual([]);
  });
});
