// The TypeScript of the guide and of README.md, run as it stands there against the real service, and
// the output that the page shows under it.
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, type SampleService, startSampleService } from "../examples/_sample-service.ts";
import { exampleBody, fencesOf, GUIDES, placeOf, readPage } from "./_fences.ts";

/** Inside the package, so that `trustrank/client` is this very tree. */
const FOLDER = path.join(ROOT, "build/guide");

const fences = ["README.md", ...GUIDES]
  .flatMap(fencesOf)
  .filter(({ language }) => language === "ts")
  .map((fence) => ({ ...fence, place: placeOf(fence) }));
const runnable = fences.filter(({ notRun }) => notRun === undefined);

describe("the pages' TypeScript", () => {
  let service: SampleService;
  beforeAll(async () => {
    service = await startSampleService();
    await mkdir(FOLDER, { recursive: true });
  });
  afterAll(async () => {
    await service.stop();
    await rm(FOLDER, { recursive: true, force: true });
  });

  it("is marked wherever the client is imported", () => {
    const shown = ["README.md", ...GUIDES].flatMap(
      (page) => readPage(page).match(/^import .* from "trustrank\/client/gm) ?? [],
    );
    const inFences = fences.map(({ text }) => text).join("\n");
    expect(runnable.length).toBeGreaterThan(0);
    for (const line of shown) expect(inFences).toContain(line);
    const unmarked = fences.filter(({ runs, example, notRun }) => !(runs ?? example ?? notRun));
    expect(unmarked.map(({ place }) => place)).toEqual([]);
  });

  // An example's types are checked where its file stands.
  it.each(runnable.filter(({ example }) => example !== undefined))(
    "is the example that it names: $place",
    ({ example, text }) => {
      expect(text).toBe(exampleBody(example!));
    },
  );

  it.each(runnable)("runs: $place", async ({ line, text, output }) => {
    const file = path.join(FOLDER, `line-${line}.ts`);
    await writeFile(file, text);
    const printed = await service.runFile(file);
    expect(printed).not.toBe("");
    if (output !== undefined) expect(printed).toBe(output);
  });
});
