// `trustrank keys create | list | set | rotate | revoke`: API keys, in the files or through the running server.
import { ServiceFault } from "../../contract/faults.ts";
import { KEY_LABEL_LENGTH_MAX, TENANT_LENGTH_MAX } from "../../contract/limits.ts";
import { parseKeyPatch, parseKeyRotation } from "../../contract/parse/requests.ts";
import type { KeyDescription } from "../../contract/schemas/service.ts";
import { TOOL_LEVELS, SCOPES, type Scope } from "../../contract/vocabulary.ts";
import { openKeyring } from "../../http/access/keyring.ts";
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { printNote, print, printJson, type OutputFlags, printTable } from "../output.ts";
import { isPlainText } from "../../contract/identifiers.ts";
import type { NewKey } from "../../http/access/key-changes.ts";

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

export interface CreateFlags extends OutputFlags {
  readonly scopes?: string;
  readonly tenant: string;
  readonly shadow?: boolean;
  readonly firstParty?: boolean;
  readonly assertsProperties?: boolean;
  readonly label?: string;
  readonly querySeconds?: number;
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
        asserts_properties: request.assertsProperties,
        label: request.label,
        query_seconds_max: request.querySecondsMax,
      }),
  );
  if (flags.json === true) return printJson(created);
  printNote(
    `key ${created.key_id} of ${created.tenant} for ${created.scopes.join(", ")}, shown once:`,
  );
  print(created.key);
}

/** Every key ever made, without secrets. */
export async function listKeys(access: DataAccess, flags: OutputFlags): Promise<void> {
  const keys = await runOnFilesOrServer(
    access,
    async (dataDir) => (await openKeyring({ dataDir, now: () => Date.now() })).list(),
    async (client) => (await client.sendJson<{ keys: KeyDescription[] }>("GET", "/v1/keys")).keys,
  );
  if (flags.json === true) return printJson(keys);
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
  printTable(COLUMNS, rows);
}

/** Revokes at once; repeating it changes nothing. */
export async function revokeKey(
  access: DataAccess,
  keyId: string,
  flags: OutputFlags,
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
  const { querySeconds } = flags;
  if (querySeconds !== undefined) {
    parseOrFail(() => parseKeyPatch({ query_seconds_max: querySeconds }));
  }
  return {
    tenant: flags.tenant,
    scopes,
    isShadow: flags.shadow === true,
    isFirstParty: flags.firstParty === true,
    assertsProperties: flags.assertsProperties === true,
    label: flags.label,
    querySecondsMax: querySeconds,
  };
}

/** @throws CommandFailure when one of them is none. */
function parseScopes(text: string): Scope[] {
  const scopes = text.split(",").map((scope) => scope.trim());
  for (const scope of scopes) {
    if ((SCOPES as readonly string[]).includes(scope)) continue;
    throw new CommandFailure(`\`${scope}\` is not a scope (${SCOPES.join(", ")})`, EXIT_USAGE);
  }
  return scopes as Scope[];
}

/** @throws CommandFailure */
function assertPlainText(name: string, text: string, lengthMax: number): void {
  if (isPlainText(text, lengthMax)) return;
  throw new CommandFailure(`${name} takes 1 to ${lengthMax} bytes of plain text`, EXIT_USAGE);
}

export interface SetFlags extends OutputFlags {
  /** False: the label goes. */
  readonly label?: string | false;
  readonly scopes?: string;
  /** Epoch ms; false: it never expires. */
  readonly expires?: number | false;
  readonly minimums?: string;
  /** False: no limit of its own. */
  readonly querySeconds?: number | false;
}

type RotatedKey = KeyDescription & { readonly key: string };

const formatKeyPath = (keyId: string) => `/v1/keys/${encodeURIComponent(keyId)}`;
const now = () => Date.now();

/** Changes the members that flags name; the secret stays. */
export async function setKey(access: DataAccess, keyId: string, flags: SetFlags): Promise<void> {
  const patch = buildKeyPatch(flags);
  const changed = await runOnFilesOrServer<KeyDescription>(
    access,
    async (dataDir) => {
      const keyring = await openKeyring({ dataDir, now });
      const { label, scopes, expires_at: expiresAtMs, minimum_scores: minimumScores } = patch;
      const { query_seconds_max: querySecondsMax } = patch;
      const change = { label, scopes, expiresAtMs, minimumScores, querySecondsMax };
      return (await keyring.change(keyId, change)).description;
    },
    (client) => client.sendJson("PATCH", formatKeyPath(keyId), patch),
  );
  if (flags.json === true) printJson(changed);
  else print(`changed ${changed.key_id} of ${changed.tenant}: ${changed.scopes.join(", ")}`);
}

/** Prints the key's new text alone on stdout, so that a script can take it. */
export async function rotateKey(
  access: DataAccess,
  keyId: string,
  flags: OutputFlags & { readonly overlap: number },
): Promise<void> {
  const request = parseOrFail(() => parseKeyRotation({ overlap_sec: flags.overlap }));
  const rotated = await runOnFilesOrServer<RotatedKey>(
    access,
    async (dataDir) => {
      const keyring = await openKeyring({ dataDir, now });
      const { key, description } = await keyring.rotate(keyId, request.overlap_sec * 1000);
      return { key, ...description };
    },
    (client) => client.sendJson("POST", `${formatKeyPath(keyId)}/rotate`, request),
  );
  if (flags.json === true) return printJson(rotated);
  const end = rotated.overlap_ends_at;
  const former = end === null ? "the former text has ended" : `the former one works until ${end}`;
  printNote(`key ${rotated.key_id} of ${rotated.tenant}, ${former}; the new text, shown once:`);
  print(rotated.key);
}

/** The request that the flags make, by the rules of the route. */
function buildKeyPatch(flags: SetFlags) {
  const { label, scopes, expires, minimums, querySeconds } = flags;
  if (typeof label === "string") assertPlainText("--label", label, KEY_LABEL_LENGTH_MAX);
  if (typeof expires === "number" && expires <= now()) {
    throw new CommandFailure("--expires must lie ahead: to end a key now, revoke it", EXIT_USAGE);
  }
  const body = {
    ...(label === undefined ? {} : { label: label === false ? null : label }),
    ...(scopes === undefined ? {} : { scopes: parseScopes(scopes) }),
    ...(expires === undefined ? {} : { expires_at: expires === false ? null : expires }),
    ...(minimums === undefined ? {} : { minimum_scores: parseMinimumScores(minimums) }),
    ...(querySeconds === undefined
      ? {}
      : { query_seconds_max: querySeconds === false ? null : querySeconds }),
  };
  return parseOrFail(() => parseKeyPatch(body));
}

const MINIMUM = /^(\w+)=(\d{1,3}(?:\.\d+)?)$/;

/** `L2=600,L3=700`. */
function parseMinimumScores(text: string): Record<string, number> {
  const pairs = text.split(",").map((pair) => {
    const [, level = "", score = ""] = MINIMUM.exec(pair.trim()) ?? [];
    if ((TOOL_LEVELS as readonly string[]).includes(level)) return [level, Number(score)];
    const levels = TOOL_LEVELS.join(", ");
    throw new CommandFailure(
      `--minimums takes levels (${levels}) with scores, such as \`L2=600,L3=700\``,
      EXIT_USAGE,
    );
  });
  return Object.fromEntries(pairs) as Record<string, number>;
}

/** @throws CommandFailure for what the route would refuse. */
function parseOrFail<Request>(parse: () => Request): Request {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    throw new CommandFailure(error.detail, EXIT_USAGE);
  }
}
