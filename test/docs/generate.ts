// Writes what is made from the code: parts of docs/, and the message types of the published client.
// Run it after a change of the tables or of a schema.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { renderConfigurationPage } from "../../src/service/settings/settings-text.ts";
import { clientTypes } from "./_client-types.ts";
import { GENERATED, withMadePart } from "./_generated.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

for (const page of GENERATED) writeFileSync(join(ROOT, page.path), withMadePart(page));
writeFileSync(join(ROOT, "docs/reference/configuration.md"), renderConfigurationPage());
for (const [types, text] of Object.entries(await clientTypes())) {
  writeFileSync(join(ROOT, types), text);
  execFileSync("oxfmt", [types], { cwd: ROOT });
}
