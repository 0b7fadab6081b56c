// UUID version 7 (RFC 9562 §5.7), written out: `crypto.randomUUID` gives version 4 only, and in
// browsers only where the page came over TLS.

/** A UUID of version 7: 48 bits of milliseconds, the rest random but for version and variant. */
export function createUuidV7(nowMs: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(nowMs / 0x1_0000));
  view.setUint16(4, nowMs % 0x1_0000);
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
