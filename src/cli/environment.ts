// The settings' environment of this process: the real one, with the file of settings and the files of
// secrets laid under it once, before a command begins.
import { DUCKDB_JE_MALLOC_CONF } from "../platform/limited-process.ts";
import type { LayeredSettings } from "../service/settings/config-file.ts";
import type { Environment } from "../service/settings/settings.ts";

/**
 * Sets DuckDB's allocator, unless the environment does. Before the store's thread starts, and on the main one: a
 * thread's variables are a copy that native code does not see.
 */
export function setDatabaseAllocator(): void {
  process.env["DUCKDB_JE_MALLOC_CONF"] ??= DUCKDB_JE_MALLOC_CONF;
}

let layeredEnvironment: LayeredSettings = { environment: process.env, origins: new Map() };

/** What commands read settings from. */
export function readEnvironment(): Environment {
  return layeredEnvironment.environment;
}

/** Where a variable comes from, if not from the real environment. */
export function findVariableOrigin(variable: string): string | undefined {
  return layeredEnvironment.origins.get(variable);
}

/**
 * Lays the files under the environment; `path` wins over `TRUSTRANK_CONFIG`. The parser is loaded only
 * where there is something to read. @throws InvalidSetting
 */
export async function loadEnvironment(path: string | undefined): Promise<void> {
  const file = path ?? (process.env["TRUSTRANK_CONFIG"] || undefined);
  const hasSecrets = Object.keys(process.env).some(
    (name) => name === "CREDENTIALS_DIRECTORY" || /^TRUSTRANK_.*_FILE$/.test(name),
  );
  if (file === undefined && !hasSecrets) return;
  const { layerSettings: layered } = await import("../service/settings/config-file.ts");
  layeredEnvironment = layered(process.env, file);
}
