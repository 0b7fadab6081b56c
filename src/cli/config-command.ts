// `trustrank config check`: every setting as `serve` would read it, and where its value comes from.
import { parseServeConfig } from "../service/settings/config.ts";
import { convertToSnakeCase } from "../service/settings/config-file.ts";
import type { Setting } from "../service/settings/setting-kinds.ts";
import { SETTINGS } from "../service/settings/settings.ts";
import { readEnvironment, loadEnvironment, findVariableOrigin } from "./environment.ts";
import { print, printJson, printTable, type OutputFlags } from "./output.ts";

interface SettingRow {
  readonly setting: string;
  /** Undefined for none; of a secret, that there is one. */
  readonly value: string | undefined;
  readonly from: string;
}

/** Prints all settings. @throws InvalidSetting for one that cannot be meant. */
export async function checkConfig(file: string | undefined, flags: OutputFlags): Promise<void> {
  await loadEnvironment(file);
  parseServeConfig({ sample: true }, readEnvironment());
  const rows = Object.entries(SETTINGS).map(([name, setting]) =>
    describeSettingRow(convertToSnakeCase(name), setting),
  );
  if (flags.json === true)
    return printJson({ settings: rows.map((row) => ({ ...row, value: row.value ?? null })) });
  const cells = rows.map(({ setting, value = "", from }) => [setting, value, from]);
  printTable(["setting", "value", "from"], cells);
  print("every setting can be meant");
}

function describeSettingRow(name: string, setting: Setting): SettingRow {
  const variable = setting.variables.find((each) => (readEnvironment()[each] ?? "") !== "");
  if (variable === undefined) {
    const value = setting.defaultText ?? setting.default?.toString();
    return { setting: name, value, from: "default" };
  }
  const value = setting.isSecret === true ? "(set)" : readEnvironment()[variable];
  return { setting: name, value, from: findVariableOrigin(variable) ?? variable };
}
