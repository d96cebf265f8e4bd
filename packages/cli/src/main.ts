import { CommanderError, type Command } from 'commander'
import { failureExitCode, HEARTH_FAILED, signalNumber, USAGE } from './exit-codes.ts'
import { isBrokenPipe } from './output/write.ts'
import { makeProgram } from './program.ts'

const words = process.argv.slice(2)
const separator = words.indexOf('--')
const own = separator === -1 ? words : words.slice(0, separator)
/** Commands whose exit code is that of what they run need one that tells Hearth's own failures apart. */
const runsSomething = ['run', 'shell', 'exec'].includes(own.find((word) => !word.startsWith('-')) ?? '')

// A reader that goes away is met where we write; without a listener it would end the process before its sandbox is gone.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)
const exitCode = await main()
// Input that nobody reads any more, or a terminal, would keep the process alive.
await Promise.all([process.stdout, process.stderr].map(async (stream) => await flushed(stream)))
process.exit(exitCode)

async function main(): Promise<number> {
  let code = 0
  const program = makeProgram((finished) => (code = finished))
  // Words that a command in a sandbox gets are none of ours; only where ours cannot be told apart from them all are looked at.
  let understood: Command | null = null
  program.hook('preAction', (_program, command) => void (understood = command))
  const json = (): boolean => (understood === null ? own.includes('--json') : understood.opts()['json'] === true)
  try {
    if (words.length === 0) program.help()
    await program.parseAsync(words, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return await usageError(error, json())
    if (isBrokenPipe(error)) return 128 + signalNumber('SIGPIPE')
    const { failureOf, reportFailure } = await import('./output/failure.ts')
    const failure = failureOf(error)
    reportFailure(failure, json())
    return runsSomething ? failureExitCode(failure) : 1
  }
}

async function usageError(error: CommanderError, json: boolean): Promise<number> {
  if (error.exitCode === 0) return 0
  // A group of commands that was called without one shows its help.
  if (error.code === 'commander.help') return USAGE
  const { reportFailure } = await import('./output/failure.ts')
  const message = error.message.replace(/^error: /, '').replace(/\n\(/, ' (')
  const suggestion = 'Add --help to see what the command takes.'
  reportFailure({ code: 'invalid_request', message, suggestion, retryable: false }, json)
  return runsSomething ? HEARTH_FAILED : USAGE
}

async function flushed(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed) return
  await new Promise<void>((resolve) => {
    stream.write('', () => resolve())
  })
}
