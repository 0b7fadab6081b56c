// The table of settings as text: for `--help`, and as the reference page of the configuration, which
// `npm run docs:reference` writes to docs/reference/.
import type { Setting } from "./setting-kinds.ts";
import { SETTINGS } from "./settings.ts";

const ALL: readonly Setting[] = Object.values(SETTINGS);
/** Columns of the variables in `--help`: the longest name and a gap. */
const NAME_WIDTH = 32;

/** Its sentence, then its variables and its default, as `--help` shows a flag. */
export function describeSetting(setting: Setting): string {
  const facts = setting.variables.length === 0 ? [] : [setting.variables.join(", ")];
  const value = formatDefault(setting);
  if (value !== "") facts.push(`default ${value}`);
  return facts.length === 0 ? setting.sentence : `${setting.sentence} (${facts.join("; ")})`;
}

/** One line for each setting of `serve` that has a variable and no flag. */
export function describeVariables(): string[] {
  return ALL.filter(({ flag }) => flag === undefined).map((setting) => {
    const value = formatDefault(setting);
    const end = value === "" ? "" : ` (default ${value})`;
    return `  ${setting.variables.join(", ").padEnd(NAME_WIDTH)}${setting.sentence}${end}`;
  });
}

/** The whole text of docs/reference/configuration.md. */
export function renderConfigurationPage(): string {
  const ofServe = ALL.filter(({ readBy }) => readBy !== "commands");
  const ofCommands = ALL.filter(({ readBy }) => readBy !== undefined);
  return `# Configuration

<!-- Written by \`npm run docs:reference\` from src/service/settings/settings.ts. -->

A flag wins over the environment, the environment over the file, the file over the default. An empty
variable counts as unset; where several are named, the first one that is set counts. A value that a
setting does not take ends the command with exit code 2 and a sentence that names the flag, the variable
or the line. \`trustrank serve --help\` shows the same settings, \`trustrank config check [FILE]\` the
value of each and where it comes from.

## The file

\`--config FILE\`, or \`TRUSTRANK_CONFIG\`, names a file in YAML: settings in snake case, one value each,
\`true\` and \`false\` for \`on\` and \`off\`.

\`\`\`yaml
port: 8080
data_dir: /var/lib/trustrank
admin_key_file: /run/secrets/trustrank-admin-key
decisions_kept_days: 30
seeds: [agent://acme/settlement, keys]
\`\`\`

## Secrets

Those that are secret (${listSecretVariables()}) are read from a file where
the variable with \`_FILE\` behind it names one, or \`admin_key_file\` in the file of settings, or, under
systemd, from a credential by the name of the variable (\`LoadCredential=TRUSTRANK_ADMIN_KEY:/etc/...\`).

## The server

${renderSettingsTable(ofServe)}

## Other commands

Commands work on the files of the data directory, or through the server that holds it.

${renderSettingsTable(ofCommands)}
`;
}

function listSecretVariables(): string {
  const secrets = ALL.filter(({ isSecret }) => isSecret === true);
  return secrets.map(({ variables }) => `\`${variables[0]}\``).join(", ");
}

function renderSettingsTable(settings: readonly Setting[]): string {
  const rows = settings.map((setting) => [
    setting.flag === undefined ? "" : `\`${setting.flag}\``,
    setting.variables.map((variable) => `\`${variable}\``).join(", "),
    setting.kind.takes,
    formatDefault(setting),
    setting.sentence,
  ]);
  const head = ["flag", "environment", "takes", "default", "meaning"];
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Empty for a setting without a default. */
function formatDefault(setting: Setting): string {
  return setting.defaultText ?? (setting.default === undefined ? "" : String(setting.default));
}
