import type { PermissionRule } from '@hearth/agent'
import { InvalidArgumentError, type Command } from 'commander'

/** What the tools of a run may do, and what looks at their calls. */
export interface RuleOptions {
  readonly permission?: readonly PermissionRule[]
  readonly hookBefore?: string
  readonly hookAfter?: string
}

export function addRuleOptions(command: Command): Command {
  return addHookOptions(
    command.option(
      '--permission <TOOL[:PATTERN]=ACTION>',
      'allow, ask or deny what a tool does, * being anything; the last one that fits counts (repeatable)',
      collectRule,
    ),
  )
}

export function addHookOptions(command: Command): Command {
  return command
    .option('--hook-before <command>', 'run on this machine before each call, which it gets as JSON and can refuse')
    .option('--hook-after <command>', 'run on this machine after each call, which it gets as JSON with its result')
}

/** `bash:git push*=deny` */
function collectRule(text: string, previous: readonly PermissionRule[] = []): PermissionRule[] {
  const [, tool, pattern, action] = /^([\w*?-]+)(?::(.*))?=(allow|ask|deny)$/s.exec(text) ?? []
  if (tool === undefined || action === undefined)
    throw new InvalidArgumentError('It must be a tool and allow, ask or deny, like bash=ask or bash:git push*=deny.')
  const rule = { tool, action: action as PermissionRule['action'] }
  return [...previous, pattern === undefined ? rule : { ...rule, pattern }]
}
