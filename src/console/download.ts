// Files that a page makes itself.

/** Long enough for a browser to have begun with it. */
const KEPT_MS = 10_000;

/** Hands `blob` to the browser as a download called `name`. */
export function saveAs(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
