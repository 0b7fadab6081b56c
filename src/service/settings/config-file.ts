// Settings from a file and from files of secrets, laid under the environment: a variable that is set wins.
// The file is YAML: names of settings in snake case, one value each.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Document, isScalar, LineCounter, parseDocument } from "../../platform/yaml.ts";
import type { Setting } from "./setting-kinds.ts";
import { type Environment, InvalidSetting, SETTINGS } from "./settings.ts";

/** A file of settings is written by hand: more is a mistake. */
const CONFIG_FILE_BYTES_MAX = 256 * 1024;
const SECRET_FILE_BYTES_MAX = 16 * 1024;

/** Where the value of a variable comes from, for who asks. */
export interface LayeredSettings {
  readonly environment: Environment;
  /** By variable: `FILE:LINE` or the path of a secret. */
  readonly origins: ReadonlyMap<string, string>;
}

const SETTINGS_BY_FILE_NAME: ReadonlyMap<string, Setting> = new Map(
  Object.entries(SETTINGS).map(([name, setting]) => [convertToSnakeCase(name), setting]),
);

/** Name of a setting in a file: `dataDir` is `data_dir`. */
export function convertToSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * The environment with what it does not set itself: secrets from `NAME_FILE` and from the service
 * manager's credentials (a file `NAME` in `$CREDENTIALS_DIRECTORY`), then settings from `path`.
 * @throws InvalidSetting with one line for everything that is wrong.
 */
export function layerSettings(environment: Environment, path: string | undefined): LayeredSettings {
  const layers: { values: Record<string, string>; origins: Map<string, string> } = {
    values: {},
    origins: new Map(),
  };
  const put = (setting: Setting, value: string, origin: string) => {
    const isSet = setting.variables.some(
      (each) => (environment[each] ?? "") !== "" || each in layers.values,
    );
    const [variable] = setting.variables;
    if (isSet || variable === undefined) return;
    layers.values[variable] = value;
    layers.origins.set(variable, origin);
  };
  for (const setting of SETTINGS_BY_FILE_NAME.values()) {
    const from = setting.isSecret === true ? findSecretFile(setting, environment) : undefined;
    if (from !== undefined) put(setting, readSecret(from.path, from.origin), from.path);
  }
  if (path !== undefined) {
    for (const { setting, value, origin } of readConfigFile(path)) put(setting, value, origin);
  }
  const isKept = ([, value]: [string, string | undefined]) => (value ?? "") !== "";
  const own = Object.fromEntries(Object.entries(environment).filter(isKept));
  return { environment: { ...layers.values, ...own }, origins: layers.origins };
}

interface FileSetting {
  readonly setting: Setting;
  readonly value: string;
  readonly origin: string;
}

/** Settings of a file, each checked. @throws InvalidSetting */
function readConfigFile(path: string): FileSetting[] {
  const text = readText(path, CONFIG_FILE_BYTES_MAX, path);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, schema: "core" });
  const [broken] = document.errors;
  if (broken !== undefined)
    throw new InvalidSetting(`${path}: ${broken.message.split("\n", 1)[0]}`);
  const value = convertToPlainDocument(document, path);
  if (value === null) return [];
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new InvalidSetting(`${path}: expected names of settings with their values`);
  }
  const wrong: string[] = [];
  const given: FileSetting[] = [];
  for (const [name, entry] of Object.entries(value)) {
    const node = document.get(name, true);
    const at = isScalar(node) && node.range ? `:${lines.linePos(node.range[0]).line}` : "";
    try {
      given.push({ ...readConfigEntry(name, entry), origin: `${path}${at}` });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      wrong.push(`${path}${at}: /${name}: ${error.message}`);
    }
  }
  if (wrong.length > 0) throw new InvalidSetting(wrong.join("\n"));
  return given;
}

/** Without aliases: a few lines of them can stand for more than memory holds. @throws InvalidSetting */
function convertToPlainDocument(document: Document, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw new InvalidSetting(`${path}: ${(error as Error).message}`);
  }
}

/** @throws RangeError */
function readConfigEntry(name: string, entry: unknown): Omit<FileSetting, "origin"> {
  const secret = name.endsWith("_file")
    ? SETTINGS_BY_FILE_NAME.get(name.slice(0, -"_file".length))
    : undefined;
  if (secret?.isSecret === true && typeof entry === "string") {
    return { setting: secret, value: readSecret(entry, `/${name}`) };
  }
  const setting = name === "config" ? undefined : SETTINGS_BY_FILE_NAME.get(name);
  if (setting === undefined || setting.variables.length === 0) {
    throw new RangeError(`there is no such setting${suggestSettingName(name)}`);
  }
  const value = convertEntryToText(entry);
  setting.kind.read(value);
  return { setting, value };
}

/** As an environment variable would say it. @throws RangeError */
function convertEntryToText(entry: unknown): string {
  if (typeof entry === "boolean") return entry ? "on" : "off";
  if (typeof entry === "string") return entry;
  if (typeof entry === "number") return String(entry);
  if (Array.isArray(entry) && entry.every((each) => typeof each === "string")) {
    return entry.join(",");
  }
  throw new RangeError("expected a text, a number, true or false, or a list of texts");
}

function suggestSettingName(name: string): string {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "");
  const known = [...SETTINGS_BY_FILE_NAME].filter(([, setting]) => setting.variables.length > 0);
  const meant = known.find(
    ([each, { variables }]) =>
      plain(each) === plain(name) ||
      variables.includes(name) ||
      plain(each).startsWith(plain(name)),
  );
  return meant === undefined ? "" : `; \`${meant[0]}\` is meant?`;
}

/** The file that holds a secret, if one is named. @throws InvalidSetting when it is given twice. */
function findSecretFile(
  { variables }: Setting,
  environment: Environment,
): { path: string; origin: string } | undefined {
  for (const variable of variables) {
    const origin = `${variable}_FILE`;
    const path = environment[origin] ?? "";
    if (path === "") continue;
    if ((environment[variable] ?? "") === "") return { path, origin };
    throw new InvalidSetting(`${variable} and ${origin} are both set; take one of them`);
  }
  const folder = environment["CREDENTIALS_DIRECTORY"] ?? "";
  if (folder === "") return undefined;
  const path = join(folder, variables[0]!);
  return existsSync(path) ? { path, origin: "CREDENTIALS_DIRECTORY" } : undefined;
}

/** One line; the newline that editors and `echo` add is none of it. */
function readSecret(path: string, origin: string): string {
  return readText(path, SECRET_FILE_BYTES_MAX, origin).replace(/\r?\n$/, "");
}

/** @throws InvalidSetting */
function readText(path: string, bytesMax: number, origin: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new InvalidSetting(`${origin}: ${path} cannot be read (${why})`);
  }
  if (bytes.length > bytesMax) throw new InvalidSetting(`${origin}: ${path} is too long`);
  return bytes.toString();
}
