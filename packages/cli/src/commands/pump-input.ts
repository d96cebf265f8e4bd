import type { Process } from '@hearth/contract'

/** Passes our standard input on to a command, with its end-of-file. Ends early when the command no longer takes it. */
export async function pumpInput(input: AsyncIterable<Uint8Array>, target: Process): Promise<void> {
  try {
    for await (const chunk of input) await target.write(chunk)
    await target.closeStdin()
  } catch {
    // The command closed its input or has ended. That is its right, and its exit code says how it went.
  }
}
