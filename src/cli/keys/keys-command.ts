// `trustrank keys create`, `list`, `revoke`: makes, lists and revokes API keys, in the files or through the running server.
import { isPlainText } from "../../contract/identifiers.ts";
import { KEY_LABEL_LENGTH_MAX, TENANT_LENGTH_MAX } from "../../contract/limits.ts";
import type { KeyDescription } from "../../contract/schemas/service.ts";
import { SCOPES } from "../../contract/vocabulary.ts";
import type { Scope } from "../../contract/vocabulary.ts";
import { openKeyring } from "../../http/access/keyring.ts";
import type { NewKey } from "../../http/access/key-changes.ts";
import { runOnFilesOrServer } from "../data-access.ts";
import type { DataAccess } from "../data-access.ts";
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { formatTable, printNote, print, printJson } from "../output.ts";

const DEFAULT_SCOPES: readonly Scope[] = ["score:read", "outcomes:write"];

const COLUMNS = [
  "id",
  "tenant",
  "scopes",
  "mode",
  "voice",
  "created",
  "expires",
  "revoked",
  "overlap until",
  "label",
];

export interface CreateFlags {
  readonly scopes?: string;
  readonly tenant: string;
  readonly shadow?: boolean;
  readonly firstParty?: boolean;
  readonly label?: string;
  readonly json?: boolean;
}

type CreatedKey = KeyDescription & { key: string };

/** Prints the new key alone on stdout, so that a script can take it; the rest goes to stderr. */
export async function createKey(access: DataAccess, flags: CreateFlags): Promise<void> {
  const request = buildNewKeyRequest(flags);
  const created = await runOnFilesOrServer<CreatedKey>(
    access,
    async (dataDir) => {
      const keyring = await openKeyring({ dataDir, now: () => Date.now() });
      const { key, description } = await keyring.create(request);
      return { key, ...description };
    },
    (client) =>
      client.sendJson("POST", "/v1/keys", {
        tenant: request.tenant,
        scopes: request.scopes,
        is_shadow: request.isShadow,
        first_party: request.isFirstParty,
        label: request.label,
      }),
  );
  if (flags.json === true) {
    printJson(created);
    return;
  }
  printNote(
    `key ${created.key_id} of ${created.tenant} for ${created.scopes.join(", ")}, shown once:`,
  );
  print(created.key);
}

/** Every key ever made, without secrets. */
export async function listKeys(access: DataAccess, flags: { json?: boolean }): Promise<void> {
  const keys = await runOnFilesOrServer(
    access,
    async (dataDir) => (await openKeyring({ dataDir, now: () => Date.now() })).list(),
    async (client) => (await client.sendJson<{ keys: KeyDescription[] }>("GET", "/v1/keys")).keys,
  );
  if (flags.json === true) {
    printJson(keys);
    return;
  }
  const rows = keys.map((key) => [
    key.key_id,
    key.tenant,
    key.scopes.join(","),
    key.is_shadow ? "shadow" : "",
    key.first_party ? "first-party" : "",
    key.created_at,
    key.expires_at ?? "",
    key.revoked_at ?? "",
    key.overlap_ends_at ?? "",
    key.label ?? "",
  ]);
  for (const line of formatTable(COLUMNS, rows)) print(line);
}

/** Revokes at once; repeating it changes nothing. */
export async function revokeKey(
  access: DataAccess,
  keyId: string,
  flags: { json?: boolean },
): Promise<void> {
  const revoked = await runOnFilesOrServer<KeyDescription>(
    access,
    async (dataDir) => (await openKeyring({ dataDir, now: () => Date.now() })).revoke(keyId),
    (client) => client.sendJson("DELETE", `/v1/keys/${encodeURIComponent(keyId)}`),
  );
  if (flags.json === true) printJson(revoked);
  else print(`revoked ${revoked.key_id} of ${revoked.tenant}`);
}

function buildNewKeyRequest(flags: CreateFlags): NewKey {
  const scopes = flags.scopes === undefined ? DEFAULT_SCOPES : parseScopes(flags.scopes);
  assertPlainText("--tenant", flags.tenant, TENANT_LENGTH_MAX);
  if (flags.label !== undefined) assertPlainText("--label", flags.label, KEY_LABEL_LENGTH_MAX);
  return {
    tenant: flags.tenant,
    scopes,
    isShadow: flags.shadow === true,
    isFirstParty: flags.firstParty === true,
    label: flags.label,
  };
}

/** @throws CommandFailure when one of them is none. */
export function parseScopes(text: string): Scope[] {
  const scopes = text.split(",").map((scope) => scope.trim());
  for (const scope of scopes) {
    if ((SCOPES as readonly string[]).includes(scope)) continue;
    throw new CommandFailure(`\`${scope}\` is not a scope (${SCOPES.join(", ")})`, EXIT_USAGE);
  }
  return scopes as Scope[];
}

/** @throws CommandFailure */
export function assertPlainText(name: string, text: string, lengthMax: number): void {
  if (isPlainText(text, lengthMax)) return;
  throw new CommandFailure(`${name} takes 1 to ${lengthMax} bytes of plain text`, EXIT_USAGE);
}
