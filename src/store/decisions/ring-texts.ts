// Texts of a decision's record. Who asks and what the policy answers are the same for many decisions in
// a row: their bytes are kept from the last one and copied while they are asked for again.
import type { DecisionEntry } from "../../contract/decisions.ts";
import type { Principal } from "../../contract/principal.ts";

const encoder = new TextEncoder();

/** Texts are nearly always ASCII; the encoder takes the others. @returns the bytes written. */
export function writeText(bytes: Uint8Array, at: number, text: string): number {
  const { length } = text;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) {
      const encoded = encoder.encode(text);
      bytes.set(encoded, at);
      return encoded.length;
    }
    bytes[at + index] = code;
  }
  return length;
}

const EMPTY = new Uint8Array(0);

/** Bytes of some texts one behind the other, and their lengths. */
interface EncodedTexts {
  readonly bytes: Uint8Array;
  readonly lengths: readonly number[];
}

function encodeTexts(texts: readonly string[]): EncodedTexts {
  const parts = texts.map((text) => encoder.encode(text));
  return { bytes: Buffer.concat(parts), lengths: parts.map(({ length }) => length) };
}

/** Where the texts of a record go. */
interface TextTarget {
  readonly bytes: Uint8Array;
  readonly lengths: Uint16Array;
}

function copyEncodedTexts(
  encoded: EncodedTexts,
  target: TextTarget,
  at: number,
  slot: number,
): number {
  const { lengths } = encoded;
  target.bytes.set(encoded.bytes, at);
  for (let index = 0; index < lengths.length; index += 1) {
    target.lengths[slot + index] = lengths[index]!;
  }
  return encoded.bytes.length;
}

/** Of one writer: tenant and key of the last caller. */
export class CallerTextCache {
  #principal: Principal | undefined = undefined;
  #encoded: EncodedTexts = { bytes: EMPTY, lengths: [] };

  /** @returns the bytes written; the two lengths go into the target's from `slot` on. */
  write(target: TextTarget, at: number, slot: number, principal: Principal): number {
    // One key has one object, which nobody changes.
    if (principal !== this.#principal) {
      this.#principal = principal;
      this.#encoded = encodeTexts([principal.tenant, principal.keyId]);
    }
    return copyEncodedTexts(this.#encoded, target, at, slot);
  }
}

/** Of one writer: rule, hard failure, config, reasons and policy of the last answer. */
export class AnswerTextCache {
  #logReason = "";
  #hardFailureCode = "";
  #configVersion = "";
  #policyVersion = "";
  #reasonCodes: string[] = [];
  #encoded: EncodedTexts = encodeTexts(["", "", "", "", ""]);

  /** @returns the bytes written; the five lengths go into the target's from `slot` on. */
  write(target: TextTarget, at: number, slot: number, entry: DecisionEntry): number {
    if (!this.#isSameAnswer(entry)) this.#cacheAnswer(entry);
    return copyEncodedTexts(this.#encoded, target, at, slot);
  }

  #isSameAnswer(entry: DecisionEntry): boolean {
    const { reasonCodes } = entry;
    if (
      entry.logReason !== this.#logReason ||
      entry.failureCode !== this.#hardFailureCode ||
      entry.configVersion !== this.#configVersion ||
      entry.policyVersion !== this.#policyVersion ||
      reasonCodes.length !== this.#reasonCodes.length
    ) {
      return false;
    }
    for (let index = 0; index < reasonCodes.length; index += 1) {
      if (reasonCodes[index] !== this.#reasonCodes[index]) return false;
    }
    return true;
  }

  #cacheAnswer(entry: DecisionEntry): void {
    this.#logReason = entry.logReason;
    this.#hardFailureCode = entry.failureCode;
    this.#configVersion = entry.configVersion;
    this.#policyVersion = entry.policyVersion;
    this.#reasonCodes = [...entry.reasonCodes];
    const { logReason, failureCode, configVersion, policyVersion } = entry;
    const codes = this.#reasonCodes.join(",");
    this.#encoded = encodeTexts([logReason, failureCode, configVersion, codes, policyVersion]);
  }
}
