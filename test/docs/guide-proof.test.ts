// The guide's program that checks a proof with SHA-256 alone, on proofs of the real vault.
import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { ACME, itemOf, openVault } from "../vault/_setup.ts";
import { fencesOf } from "./_fences.ts";
import { needs } from "../_needs.ts";

const PROGRAM = fencesOf("docs/guide/provenance.md").find(
  ({ runs }) => runs === "check a proof",
)!.text;

function saysOf(proof: unknown): string {
  const input = JSON.stringify(proof);
  return spawnSync("python3", ["-c", PROGRAM], { input, encoding: "utf8" }).stdout.trim();
}

it(
  "calls true what the vault proves, at any place of a tree of any size, and nothing else",
  needs("python3"),
  async () => {
    const { vault } = openVault();
    for (let at = 0; at < 13; at++) {
      await vault.register([itemOf(`source-${at}`, `größer ${at}`)], ACME);
      if (at !== 6 && at !== 12) continue;
      for (let place = 0; place <= at; place += 3) {
        expect(saysOf(vault.read(`source-${place}`, ACME.tenant)), `${place} of ${at}`).toBe(
          "True",
        );
      }
    }
    const forged = vault.read("source-5", ACME.tenant);
    forged.merkle.leaf_text = forged.merkle.leaf_text.replace("source-5", "source-6");
    expect(saysOf(forged)).toBe("False");
    const other = vault.read("source-5", ACME.tenant);
    expect(saysOf({ ...other, index: 4 })).toBe("False");
  },
);
