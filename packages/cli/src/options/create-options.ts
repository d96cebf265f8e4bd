import type { Command } from 'commander'
import type { CreateSandbox, IdleAction } from '@hearth/sdk'
import { grantOf } from './grant-option.ts'
import { memoryChoice, type MemoryChoice } from './memory-option.ts'
import { collectWord, parseDuration } from './quantity.ts'
import { collectVolume, type VolumeOption } from './volume-option.ts'
import { addSandboxOptions, sandboxFields, withoutUndefined, type SandboxOptions } from './sandbox-options.ts'

/** What only a sandbox that stays has. */
export interface CreateOptions extends Omit<SandboxOptions, 'memory'> {
  /** A snapshot, as a person names it. */
  readonly from?: string
  readonly memory?: MemoryChoice
  readonly ttl?: number
  readonly idle?: number
  readonly idleAction?: IdleAction
  readonly persistent?: boolean
  /** Paths below which changes are recorded. */
  readonly recordFiles?: readonly string[]
  readonly recordProcesses?: boolean
  /** Names of secrets, each perhaps with a variable. */
  readonly secret?: readonly string[]
  readonly volume?: readonly VolumeOption[]
  /** As a person names it. */
  readonly workspace?: string
  /** The grant of a key of its own: JSON, or a file that holds it. */
  readonly delegate?: string
}

export function addCreateOptions(command: Command): Command {
  return addSandboxOptions(command, 'longest run of one command that is waited for, like 30s or 10m', memoryChoice())
    .option('--from <snapshot>', 'a copy of this snapshot, by id or name, instead of a template')
    .option('--ttl <duration>', 'it ends after this time, like 10m (default: 1h)', parseDuration)
    .option('--idle <duration>', 'pause it after this long without a call', parseDuration)
    .option(
      '--idle-action <action>',
      'pause, hibernate or kill, with --idle; where processes run that cannot be captured, hibernate pauses',
    )
    .option('--record-files <path>', 'changes below this path are in its events too (repeatable)', collectWord)
    .option('--record-processes', 'programs that its processes execute are in its events too (gvisor, microvm)')
    .option('--workspace <word>', 'a workspace at /workspace: its id, or what a new one is made of (URL, directory)')
    .option('--volume <NAME:PATH[:ro]>', 'a volume at this path, to write or only to read (repeatable)', collectVolume)
    .option(
      '--delegate <json>',
      'programs in it reach this server with a key of its own, which may do this at the most, as JSON or a file of it; {} for no names and no secrets',
    )
    .option('--persistent', 'no deadline; needs a key that may')
    .option(
      '--secret <NAME[=ENV]>',
      'a secret that it uses, with its placeholder in this variable (repeatable)',
      collectWord,
    )
}

/** Names and ranges are checked by the server, which knows them. */
export function createSpecOf(options: CreateOptions): CreateSandbox {
  const { memory, ...rest } = options
  const limit = memory?.limit === undefined ? {} : { memory: memory.limit }
  return {
    ...sandboxFields({ ...rest, ...limit }, options.timeout),
    ...withoutUndefined({
      memory: memory?.mode,
      ttlMs: options.ttl,
      idleMs: options.idle,
      idleAction: options.idleAction,
      persistent: options.persistent,
      record: recordOf(options),
      secrets: options.secret?.map(secretUse),
      delegate: options.delegate === undefined ? undefined : grantOf(options.delegate, '--delegate'),
      volumes: options.volume === undefined ? undefined : [...options.volume],
    }),
  }
}

function recordOf({ recordFiles, recordProcesses }: CreateOptions): CreateSandbox['record'] {
  if (recordFiles === undefined && recordProcesses === undefined) return undefined
  return withoutUndefined({
    files: recordFiles === undefined ? undefined : [...recordFiles],
    processes: recordProcesses,
  })
}

export function secretUse(text: string): { secret: string; env?: string } {
  const [secret = '', env] = text.split('=', 2)
  return env === undefined ? { secret } : { secret, env }
}
