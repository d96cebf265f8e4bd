import { signalNumber } from './exit-codes.ts'
import { Interrupts } from './interrupts.ts'

/** Does something that a signal to this process stops; then the exit code is that of the signal, whatever else it broke. */
export async function interruptible(
  work: (signal: AbortSignal) => Promise<number>,
  stopped: () => void = () => undefined,
): Promise<number> {
  using interrupts = new Interrupts()
  try {
    return await work(interrupts.signal)
  } catch (error) {
    if (interrupts.received === null) throw error
    stopped()
    return 128 + signalNumber(interrupts.received)
  }
}
