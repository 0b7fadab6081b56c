// Writes the reference pages that are generated from tables of the code. A test compares them with
// what they would be now.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configurationPage } from "../service/settings-text.ts";

const FOLDER = fileURLToPath(new URL("../../docs/reference/", import.meta.url));

mkdirSync(FOLDER, { recursive: true });
writeFileSync(`${FOLDER}configuration.md`, configurationPage());
