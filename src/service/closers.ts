// Closing of what a service opened, and its end before time.

/** Called once when the service ends before its time, with the exit code to end with. */
export type FatalHandler = (exitCode: number, why: string) => void;

/** Closes one thing that was opened. */
export type Closer = () => Promise<void> | void;

/** Last opened, first closed; each is closed once, even if others fail. */
export async function closeAll(closers: Closer[]): Promise<void> {
  let failure: unknown;
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    try {
      await close();
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
}
