import { HearthError } from '@hearth/contract'
import { decode } from '../link/dispatch.ts'
import { FrameDecoder } from '../link/frame-decoder.ts'
import { MESSAGE_TYPES, type Messages } from '../link/messages.gen.ts'
import { WireError } from '../link/wire.ts'
import { processExit } from './process-exit.ts'

/** How much of the arguments of a program was seen: all, a part, or no more than the name of a process that had gone already. */
export type ArgumentsSeen = 'whole' | 'cut' | 'name'

/** What a sandbox is heard to do with processes. `process` is the number of the command that it comes from, null when that is not known. */
export type ProcessEvent =
  | {
      readonly kind: 'executed'
      readonly process: number | null
      readonly pid: number
      readonly parent: number
      readonly argv: readonly string[]
      readonly seen: ArgumentsSeen
    }
  | {
      readonly kind: 'ended'
      readonly process: number | null
      readonly pid: number
      readonly exitCode: number | null
      readonly signal: string | null
      readonly durationMs: number
    }
  /** So many events are missing here; 0 when it begins. */
  | { readonly kind: 'missed'; readonly count: number }

type Rootless<Event> = Event extends { readonly process: number | null }
  ? Omit<Event, 'process'> & { /** The main process of its command, 0 when unknown. */ readonly root: number }
  : Event

/** An event before it is known whose it is. */
export type HeardEvent = Rootless<ProcessEvent>

const MOST_ARGUMENTS = 256
const MOST_CHARACTERS = 4096
const CUT = 1
const NAME_ONLY = 2

/** Reads the stream of WatchProcesses. Hostile input: what breaks a rule throws `HearthError`, and nothing is longer than the guest may say. */
export class ProcessEventReader {
  #events: HeardEvent[] = []
  readonly #frames = new FrameDecoder((type, channel, payload) => {
    if (channel !== 0) throw new WireError('a frame of the stream of processes names a channel')
    this.#events.push(heardEvent(type, payload))
  })

  /** What a chunk completes. */
  push(chunk: Uint8Array): readonly HeardEvent[] {
    try {
      this.#frames.push(Buffer.from(chunk))
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      throw new HearthError('watch_failed', `the stream of processes: ${error.message}`, { cause: error })
    }
    const events = this.#events
    this.#events = []
    return events
  }
}

function heardEvent(type: number, payload: Buffer): HeardEvent {
  switch (type) {
    case MESSAGE_TYPES.Executed:
      return executed(decode('Executed', payload))
    case MESSAGE_TYPES.Ended:
      return ended(decode('Ended', payload))
    case MESSAGE_TYPES.Missed:
      return { kind: 'missed', count: decode('Missed', payload).count }
    default:
      throw new WireError(`type ${type} tells nothing of a process`)
  }
}

function executed({ pid, parent, root, flags, argv }: Messages['Executed']): HeardEvent {
  const characters = argv.reduce((sum, argument) => sum + argument.length, 0)
  if (argv.length > MOST_ARGUMENTS || characters > MOST_CHARACTERS)
    throw new WireError('the arguments of a program are longer than a guest may say')
  const seen = (flags & NAME_ONLY) !== 0 ? 'name' : (flags & CUT) !== 0 ? 'cut' : 'whole'
  return { kind: 'executed', pid, parent, root, argv: argv.map(cleaned), seen }
}

/** Line breaks and tabs are usual in what a shell is given; what else a terminal obeys is not told. */
function cleaned(argument: string): string {
  // oxlint-disable-next-line no-control-regex
  return argument.replaceAll(/[\0-\x08\x0b-\x1f\x7f]/g, '\u{fffd}')
}

function ended({ pid, root, code, signal, durationMicroseconds }: Messages['Ended']): HeardEvent {
  const exit = processExit({ code, signal, flags: 0, durationMicroseconds, cpuMicroseconds: 0n }, false)
  const { exitCode, durationMs } = exit
  return { kind: 'ended', pid, root, exitCode, signal: exit.signal, durationMs }
}
