// Files that a page makes itself.

/** Long enough for a browser to have begun with it. */
const OBJECT_URL_LIFE_MS = 10_000;

/** Hands `blob` to the browser as a download called `name`. */
export function downloadBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), OBJECT_URL_LIFE_MS);
}
