// `trustrank upgrade --check`: the formats of a data directory beside those of this release, before it
// is started on it. Changes nothing, and needs no service to be stopped.
import { existsSync } from "node:fs";
import { resolveDataPaths } from "../../journal/data-directory.ts";
import { CommandFailure } from "../../service/failure.ts";
import { readPackageVersion } from "../../service/identity.ts";
import { areSeedsInUse, parseServeConfig } from "../../service/settings/config.ts";
import { readEnvironment } from "../environment.ts";
import { printJson, printTable, type OutputFlags } from "../output.ts";
import { type FormatPart, inspectFormats } from "./format-parts.ts";

const FAILING_EFFECTS: ReadonlySet<string> = new Set(["refuses", "passes over"]);

/** @throws CommandFailure when this release cannot read all of it. */
export async function checkUpgrade(dataDir: string, flags: OutputFlags): Promise<void> {
  if (!existsSync(dataDir)) throw new CommandFailure(`\`${dataDir}\` does not exist`);
  const { hasSeeds, ...settings } = inspectSettings();
  const parts = [...(await inspectFormats(resolveDataPaths(dataDir), hasSeeds)), settings];
  const refused = parts.filter(({ outlook }) => FAILING_EFFECTS.has(outlook));
  const release = readPackageVersion();
  if (flags.json === true) {
    printJson({ data_dir: dataDir, release, ok: refused.length === 0, parts });
  } else {
    const cells = parts.map((each) => [
      each.part,
      each.found,
      each.known,
      each.outlook,
      each.detail,
    ]);
    printTable(["part", "there", `release ${release}`, "a start", ""], cells);
  }
  if (refused.length === 0) return;
  const names = refused.map(({ part }) => part).join(", ");
  throw new CommandFailure(`this release cannot read all of it: ${names}`);
}

/** The settings as `serve` would read them, of the same environment and file. */
function inspectSettings(): FormatPart & { readonly hasSeeds: boolean } {
  const part = { part: "settings", known: "those of `trustrank config check`" };
  try {
    const hasSeeds = areSeedsInUse(parseServeConfig({ sample: true }, readEnvironment()));
    return { ...part, found: "each can be meant", outlook: "reads", detail: "", hasSeeds };
  } catch (error) {
    const detail = (error as Error).message;
    return { ...part, found: "not readable", outlook: "refuses", detail, hasSeeds: false };
  }
}
