// The link with which whoever started the service opens its console: good once, for minutes, on this
// machine. Its token is behind `#`, so that no server and no proxy sees it.
import type { Keyring } from "../access/keyring.ts";
import type { Console } from "./console.ts";
import { INSTALLED_KEY_ID } from "../access/installed-key.ts";

/** Undefined where no browser on this machine could open it, or no key may log in. */
export function createConsoleLink(
  door: Console | undefined,
  keyring: Keyring,
  url: string,
): string | undefined {
  if (door?.isOpenHere !== true || !url.startsWith("http://")) return undefined;
  const admins = keyring.list().filter(({ scopes }) => scopes.includes("admin"));
  const ids = [INSTALLED_KEY_ID, ...admins.map(({ key_id }) => key_id)];
  const keyId = ids.find((id) => keyring.findValidPrincipal(id) !== undefined);
  if (keyId === undefined) return undefined;
  return `${url}/console#login=${door.sessions.issueLink(keyId)}`;
}
