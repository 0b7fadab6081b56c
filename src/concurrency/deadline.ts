// Deadline of a promise: what takes its place when it takes too long.

/**
 * Settles as `work` does. When that takes longer than `ms`, settles with what `onLate` returns or throws; `work` goes on
 * and its result is dropped.
 */
export async function withDeadline<T, Late>(
  work: Promise<T>,
  ms: number,
  onLate: () => Late,
): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Late>((resolve, reject) => {
    timer = setTimeout(() => {
      // Called only when it is late: an error captures its stack, which costs more than most answers.
      try {
        resolve(onLate());
      } catch (error) {
        reject(error);
      }
    }, ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
