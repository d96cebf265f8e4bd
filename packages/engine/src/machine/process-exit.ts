import { constants } from 'node:os'
import { HearthError, type ProcessExit } from '@hearth/contract'
import type { Messages } from '../link/messages.gen.ts'
import { exactNumber, WireError } from '../link/wire.ts'

const LAST_SIGNAL = 64
const TIMED_OUT = 1
const OUT_OF_MEMORY = 2

const NAMES = new Map<number, string>()
for (const [name, number] of Object.entries(constants.signals)) if (!NAMES.has(number)) NAMES.set(number, name)

/** The number of a signal that a caller named. */
export function signalNumber(name: string): number {
  const number = Object.hasOwn(constants.signals, name) ? constants.signals[name as NodeJS.Signals] : undefined
  if (number === undefined)
    throw new HearthError('invalid_request', `${JSON.stringify(name.slice(0, 64))} is not the name of a signal`)
  return number
}

type ExitFields = Pick<Messages['Exited'], 'code' | 'signal' | 'flags' | 'cpuMicroseconds' | 'durationMicroseconds'>

/** How a process ended, from what the guest says. `oom` is the host's own knowledge; of a kernel of its own only the guest knows. */
export function processExit(message: ExitFields, oom: boolean): ProcessExit {
  const { code, signal } = message
  if (signal > LAST_SIGNAL) throw new WireError(`signal ${signal} does not exist`)
  if (signal === 0 && (code < 0 || code > 255)) throw new WireError(`exit code ${code} does not exist`)
  return {
    exitCode: signal === 0 ? code : null,
    signal: signal === 0 ? null : (NAMES.get(signal) ?? `SIG${signal}`),
    timedOut: (message.flags & TIMED_OUT) !== 0,
    oom: oom || (message.flags & OUT_OF_MEMORY) !== 0,
    durationMs: exactNumber(message.durationMicroseconds, 'a duration') / 1000,
    cpuMs: exactNumber(message.cpuMicroseconds, 'processor time') / 1000,
  }
}
