// Routes of the bureau's own signing keys: the published set, for whoever verifies what it has signed,
// and the rotation.
import { ServiceFault } from "../../contract/faults.ts";
import type { SigningKeys } from "../../contract/signing-keys.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

export const SIGNING_KEY_ROUTES: readonly Route[] = [
  {
    name: "signing_keys",
    method: "GET",
    path: "/.well-known/jwks.json",
    summary: "Public keys of the bureau, by which its signatures verify: the one in use first",
    access: "none",
    responses: { 200: { description: "A JWK set", schema: "SigningKeySet" } },
    isSynchronous: true,
    isFixedFormat: true,
    handle: (exchange) => exchange.document(200, requireSigningKeys(exchange).listPublishedKeys()),
  },
  {
    name: "rotate_signing_key",
    method: "POST",
    path: "/v1/signing-keys/rotate",
    summary: "Lets another key sign from now on; what the former signed verifies for ever",
    access: "admin",
    responses: { 200: { description: "The published set", schema: "SigningKeySet" } },
    isSynchronous: false,
    handle: handleSigningKeyRotation,
  },
];

async function handleSigningKeyRotation(exchange: Exchange): Promise<Reply> {
  return exchange.document(
    200,
    await requireSigningKeys(exchange).rotate(exchange.principal.keyId),
  );
}

function requireSigningKeys({ services }: Exchange): SigningKeys {
  if (services.signingKeys !== undefined) return services.signingKeys;
  throw new ServiceFault("not_found", "this service has no signing key");
}
