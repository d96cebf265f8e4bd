import type { Process } from '@hearth/contract'
import { exitCodeOf, signalNumber } from '../exit-codes.ts'
import { isBrokenPipe, write } from '../output/write.ts'

/** Bytes as they come, each to its own stream; ends with the exit code. A reader of ours that goes away ends the command. */
export async function streamOutput(child: Process): Promise<number> {
  try {
    for await (const chunk of child.output) {
      await write(chunk.stream === 'stdout' ? process.stdout : process.stderr, chunk.data)
    }
  } catch (error) {
    if (!isBrokenPipe(error)) throw error
    await child.kill()
    return 128 + signalNumber('SIGPIPE')
  }
  const exit = await child.wait()
  // Otherwise nothing would tell it from a command that ended so by itself.
  if (exit.timedOut)
    await write(process.stderr, 'hearth: the command took longer than it may; --timeout says how long\n')
  if (exit.oom) await write(process.stderr, 'hearth: the memory limit was reached; --memory says how much there is\n')
  return exitCodeOf(exit)
}
