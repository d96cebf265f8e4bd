import type { HearthError, ProcessInfo } from '@hearth/contract'
import type { Link } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { exactNumber, WireError } from '../link/wire.ts'
import type { OomWatch } from './oom-watch.ts'
import { processExit } from './process-exit.ts'

/** Processes are few: those that run and those that are retained. A list without credit needs a bound of its own. */
const LISTED_PROCESSES = 8192
const COMMAND_CHARACTERS = 16 * 1024 * 1024

/** The processes that the guest knows, oldest first. */
export function listProcesses(link: Link, oomWatch: OomWatch): Promise<ProcessInfo[]> {
  return new Promise((resolve, reject: (error: HearthError) => void) => {
    const processes: ProcessInfo[] = []
    let characters = 0
    link.open(
      'ListProcesses',
      {},
      {
        Process: (message) => {
          for (const argument of message.argv) characters += argument.length + 4
          if (processes.length >= LISTED_PROCESSES || characters > COMMAND_CHARACTERS)
            throw new WireError('a list of processes has no end')
          processes.push(processInfo(message, oomWatch))
        },
        Done: () => resolve(processes.toSorted((one, other) => one.id - other.id)),
        ended: reject,
      },
    )
  })
}

function processInfo(message: Messages['Process'], oomWatch: OomWatch): ProcessInfo {
  if (message.state > 1) throw new WireError(`a process in state ${message.state} does not exist`)
  return {
    id: message.process,
    pid: message.pid,
    command: message.argv,
    startedAt: new Date(Number(message.startedNanoseconds / 1_000_000n)),
    exit: message.state === 0 ? null : processExit(message, oomWatch.met(message.process)),
    outputBytes: exactNumber(message.outputBytes, 'the size of the output'),
    oldestOffset: exactNumber(message.oldestOffset, 'the oldest offset'),
  }
}
