// Insertion into a map of bounded size, which evicts the entry that was put least recently.

/** Puts `key` last, and evicts the first key of a map that has become too large. */
export function putBounded<Value>(
  map: Map<string, Value>,
  key: string,
  value: Value,
  sizeMax: number,
): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= sizeMax) return;
  const [oldest] = map.keys();
  map.delete(oldest as string);
}
