import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { HearthError, type Policy } from '@hearth/sdk'
import { localFailure } from '../copy/local-failure.ts'
import { collectWord } from './quantity.ts'

/** What a sandbox may reach, on the command line. */
export interface PolicyOptions {
  readonly allow?: readonly string[]
  readonly preset?: readonly string[]
  /** A file of JSON. */
  readonly policy?: string
  readonly proxy?: boolean
}

/** `note` says what holds when nothing is asked for. */
export function addPolicyOptions(command: Command, note = 'default: nothing'): Command {
  return command
    .option('--allow <name>', `NAME, *.NAME or NAME:PORT that it may reach (repeatable; ${note})`, collectWord)
    .option(
      '--preset <name>',
      'a set of names, like npm or pypi; `policy show --preset` prints it (repeatable)',
      collectWord,
    )
    .option('--policy <file>', 'a policy in JSON, as `policy learn` prints it; the other options add to it')
}

/** Of a sandbox: a command has the proxy of its sandbox or none. */
export function addProxyOption(command: Command): Command {
  return command.option(
    '--proxy',
    'set HTTP_PROXY and its like, for programs that insist on a proxy; it leads where the policy does',
  )
}

/** Undefined when nothing was asked for. Names are checked by whoever makes the sandbox. */
export function policyOf(options: PolicyOptions): Policy | undefined {
  const { allow, preset, policy: file, proxy } = options
  if ([allow, preset, file, proxy].every((option) => option === undefined)) return undefined
  const policy: Policy = file === undefined ? {} : readPolicy(file)
  return {
    ...policy,
    ...(allow === undefined ? {} : { allow: [...(policy.allow ?? []), ...allow] }),
    ...(preset === undefined
      ? {}
      : { presets: [...(policy.presets ?? []), ...preset] as NonNullable<Policy['presets']> }),
    ...(proxy === undefined ? {} : { proxy }),
  }
}

function readPolicy(path: string): Policy {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw localFailure(error, path)
  }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Policy
  } catch (error) {
    throw new HearthError('invalid_request', `${path}: this is no JSON`, { cause: error })
  }
  throw new HearthError('invalid_request', `${path}: a policy is an object`)
}
