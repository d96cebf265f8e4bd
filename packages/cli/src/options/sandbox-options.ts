import { Option, type Command } from 'commander'
import type { Rung, SandboxSpec } from '@hearth/contract'
import { addPolicyOptions, addProxyOption, policyOf, type PolicyOptions } from './policy-options.ts'
import { RUNG_WORDS } from '../completion/verb.ts'
import { collectPair, parseCount, parseCpus, parseDuration, parseSize, parseWord } from './quantity.ts'

/** What the options of every command that makes a sandbox become. */
export interface SandboxOptions extends PolicyOptions {
  readonly rung?: string
  readonly atLeast?: string
  readonly template?: string
  readonly env?: Readonly<Record<string, string>>
  readonly workdir?: string
  readonly user?: string
  readonly timeout?: number
  readonly memory?: number
  readonly cpus?: number
  readonly pids?: number
  readonly disk?: number
  readonly meta?: Readonly<Record<string, string>>
}

export const parseRung = parseWord(RUNG_WORDS.split(' '))

const COMMAND_TIMEOUT = 'end the command after this time, like 30s or 10m'

export const MEMORY_LIMIT = 'memory limit, like 512M'

/** `memory`: an option of that name which means more than the limit. */
export function addSandboxOptions(
  command: Command,
  timeout = COMMAND_TIMEOUT,
  memory = new Option('--memory <size>', MEMORY_LIMIT).argParser(parseSize),
): Command {
  command
    .option('--rung <name>', 'exactly this rung: simulated, process, container, gvisor or microvm', parseRung)
    .option('--at-least <name>', 'this rung or a stronger one', parseRung)
    .option('--template <name>', 'host, debian, code-interpreter, or an image (registry/name:tag, archive:PATH)')
    .option('--env <KEY=VALUE>', 'an environment variable (repeatable)', collectPair)
    .option('--workdir <path>', 'working directory inside')
    .option('--user <name>', 'user inside')
    .option('--timeout <duration>', timeout, parseDuration)
    .addOption(memory)
    .option('--cpus <number>', 'processor limit in cores, like 0.5', parseCpus)
    .option('--pids <number>', 'limit of processes and threads', parseCount)
    .option('--disk <size>', 'disk limit, like 2G', parseSize)
    .option('--meta <KEY=VALUE>', 'a label (repeatable)', collectPair)
  return addProxyOption(addPolicyOptions(command))
}

/** Time that a sandbox outlives its one command, so that the command's own end is what is reported. */
const MARGIN_MS = 60_000

/** The specification of a sandbox for one command. */
export function specOf(options: SandboxOptions, defaultTimeoutMs: number): SandboxSpec {
  const timeoutMs = options.timeout ?? defaultTimeoutMs
  return { ...sandboxFields(options, timeoutMs), ttlMs: timeoutMs + MARGIN_MS }
}

/** What the options ask for. Names and ranges are checked by the engine, which knows them. */
export function sandboxFields(options: SandboxOptions, wallTimeMs: number | undefined): SandboxSpec {
  return withoutUndefined({
    // The engine parses the specification and names the rungs when this is none of them.
    rung: options.rung as Rung | undefined,
    atLeast: options.atLeast as Rung | undefined,
    template: options.template,
    env: options.env,
    workdir: options.workdir,
    user: options.user,
    metadata: options.meta,
    policy: policyOf(options),
    limits: withoutUndefined({
      memoryBytes: options.memory,
      cpus: options.cpus,
      pids: options.pids,
      diskBytes: options.disk,
      wallTimeMs,
    }),
  })
}

type WithoutUndefined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> }

/** Optional fields of a specification are absent, never undefined. */
export function withoutUndefined<T extends object>(fields: T): WithoutUndefined<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as WithoutUndefined<T>
}
