// Program of its own that signs security event tokens with jose: prints the public key, then one token for each line of
// JSON on stdin: claims, and header members that replace its own.
import { createInterface } from "node:readline";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

const { publicKey, privateKey } = await generateKeyPair("ES256");
const kid = "idp-1";
process.stdout.write(`${JSON.stringify({ ...(await exportJWK(publicKey)), kid, alg: "ES256" })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const { claims, header = {} } = JSON.parse(line) as { claims: object; header?: object };
  const token = new SignJWT({ ...claims });
  token.setProtectedHeader({ alg: "ES256", typ: "secevent+jwt", kid, ...header });
  process.stdout.write(`${await token.sign(privateKey)}\n`);
}
