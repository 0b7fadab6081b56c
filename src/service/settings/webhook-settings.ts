// Settings of webhooks: where endpoints may lie.
import { parseNetworks } from "../../webhooks/address.ts";
import { type Setting, type SettingKind } from "./setting-kinds.ts";

/** Checked here, read by the thread that tells them. */
const networksKind: SettingKind<string> = {
  takes: "a list with commas of networks (`10.0.0.0/8,::1/128`)",
  read: (text) => {
    parseNetworks(text);
    return text;
  },
};

export const WEBHOOK_SETTINGS = {
  webhookAllow: {
    variables: ["TRUSTRANK_WEBHOOK_ALLOW"],
    kind: networksKind,
    default: undefined,
    defaultText: "none: public addresses, by https",
    sentence: "private networks in which webhook endpoints may lie, by http too",
  },
} satisfies Record<string, Setting>;
