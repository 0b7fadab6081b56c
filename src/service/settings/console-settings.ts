// Settings of the console: where people may open it.
import { CONSOLE_MODES } from "../../http/console/console.ts";
import { createChoiceKind, type Setting, type SettingKind } from "./setting-kinds.ts";

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/;

const hostsKind: SettingKind<readonly string[]> = {
  takes: "a list with commas of host names (`trust.example.com`, `10.0.0.7:8080`)",
  read: (text) => {
    const names = text.split(",").map((name) => name.trim().toLowerCase());
    const wrong = names.find((name) => !HOST.test(name));
    if (wrong !== undefined) throw new RangeError(`\`${wrong}\` is not a host name`);
    return names;
  },
};

export const CONSOLE_SETTINGS = {
  console: {
    flag: "--console <where>",
    variables: ["TRUSTRANK_CONSOLE"],
    kind: createChoiceKind(CONSOLE_MODES),
    default: "loopback" as const,
    sentence:
      "where people may open the console: `loopback`: on this machine, and under a named host " +
      "through a proxy that ends TLS; `on`: under every named host; `off`",
  },
  consoleHosts: {
    variables: ["TRUSTRANK_CONSOLE_HOSTS"],
    kind: hostsKind,
    default: undefined,
    defaultText: "this machine's own names",
    sentence: "further hosts under which the console is reached, with commas",
  },
  consoleInsecure: {
    variables: ["TRUSTRANK_CONSOLE_INSECURE"],
    kind: createChoiceKind(["true", "false"]),
    default: "false" as const,
    sentence:
      "`true`: its cookie without `Secure`, for a browser that refuses that on plain loopback",
  },
} satisfies Record<string, Setting>;
