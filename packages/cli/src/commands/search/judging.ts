import { checks, pathsOfCommand, type SearchOptions } from '@hearth/agent'
import { HearthError } from '@hearth/contract'
import { withoutUndefined } from '../../options/sandbox-options.ts'

/** How candidates are judged, the same for `search` and for `agent --best-of`. */
export interface JudgingOptions {
  readonly verify?: string
  readonly target?: string
  readonly check?: Readonly<Record<string, string>>
  readonly probe?: readonly string[]
  readonly protect?: readonly string[]
  readonly wave?: number
  readonly enough?: number
  readonly timeout?: number
}

type Judging = Pick<SearchOptions, 'judge' | 'targets' | 'probes' | 'protect' | 'wave' | 'enough'>

export function judgingOf(options: JudgingOptions): Judging {
  const { verify, target, check = {}, probe = [], protect = [], timeout, wave, enough } = options
  const commands: Record<string, string> = { ...withoutUndefined({ verify, target }), ...check }
  if (Object.keys(commands).length === 0) {
    throw new HearthError('invalid_request', 'there is nothing to judge by', {
      suggestion: 'Give --verify, --target or --check NAME=COMMAND.',
    })
  }
  return {
    judge: checks(commands, timeout === undefined ? {} : { timeoutMs: timeout }),
    probes: Object.fromEntries(probe.map((command) => [command, command])),
    protect: [...protect, ...Object.values(commands).flatMap(pathsOfCommand)],
    ...(target === undefined ? {} : { targets: ['target'] }),
    ...withoutUndefined({ wave, enough }),
  }
}

const FOR_SEVERAL = [
  'target',
  'check',
  'probe',
  'protect',
  'wave',
  'enough',
  'withModel',
  'temperature',
  'judgeModel',
  'tree',
]

/** An option that would do nothing is refused. */
export function requireBestOf(options: object): void {
  const [given] = FOR_SEVERAL.filter((name) => name in options)
  if (given === undefined) return
  const option = given.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw new HearthError('invalid_request', `--${option} is for several attempts`, {
    suggestion: 'Say how many with --best-of.',
  })
}
