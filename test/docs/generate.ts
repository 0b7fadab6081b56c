// Writes the parts of docs/ that are made from the code. Run it after a change of the tables.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { configurationPage } from "../../src/service/settings-text.ts";
import { GENERATED, withMadePart } from "./_generated.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

for (const page of GENERATED) writeFileSync(join(ROOT, page.path), withMadePart(page));
writeFileSync(join(ROOT, "docs/reference/configuration.md"), configurationPage());
