// Messages of namespaces: who owns which, and what granting and transferring them carries.
import { AGENT_SEGMENT_LENGTH_MAX, TENANT_LENGTH_MAX } from "../limits.ts";
import { NAMESPACE_STATES } from "../namespaces.ts";
import * as t from "./schema.ts";

/** `PUT /v1/namespaces/{namespace}`. */
export const NamespaceGrant = t.defineStrictMessage("NamespaceGrant", {
  tenant: t.definePlainText(TENANT_LENGTH_MAX),
  vouched: t.withDescription(
    t.makeOptional(t.flag),
    "whether each reporter that signs there is a voice of its own; left out: as it is, at first false",
  ),
  mediator: t.withDescription(
    t.makeOptional(t.flag),
    "whether its keys attest transactions between other owners; left out: as it is, at first false",
  ),
});

/** `POST /v1/namespaces/{namespace}/transfer`. */
export const NamespaceTransfer = t.defineStrictMessage("NamespaceTransfer", {
  tenant: t.definePlainText(TENANT_LENGTH_MAX),
  keep_keys: t.withDescription(
    t.withDefault(t.flag, false),
    "whether keys of the former owner go on to sign, as the new owner's",
  ),
});

export const Namespace = t.defineMessage("Namespace", {
  namespace: t.withDescription(
    t.text,
    `1 to ${AGENT_SEGMENT_LENGTH_MAX} characters, as in its agents' names`,
  ),
  tenant: t.withDescription(t.text, "the owner"),
  state: t.withDescription(
    t.defineChoice(NAMESPACE_STATES),
    "inherited: it registered the first key there before ownership was granted; to be confirmed",
  ),
  vouched: t.withDescription(
    t.flag,
    "each reporter that signs there is a voice of its own; else all are one, their owner's",
  ),
  mediator: t.withDescription(t.flag, "its keys attest transactions between other owners"),
  since: t.time,
  granted_by: t.withDescription(
    t.textOrNull,
    "API key of the administrator; null for an inherited one",
  ),
});
export type NamespaceDescription = t.MessageOf<typeof Namespace>;

export const NamespaceList = t.defineMessage("NamespaceList", {
  namespaces: t.defineList(Namespace),
});
