import type { OnProblem } from '../host/in-background.ts'
import { explainEnd } from '../host/keeper-process.ts'
import type { LinkEnd } from '../link/link-end.ts'

export const ASLEEP: LinkEnd = { kind: 'asleep', detail: 'the sandbox was hibernated' }

/** Null also when the host cannot tell: the link is lost then, and how the machine ended is found out later. */
export function endOf(directory: string, oomKills: () => number, onProblem: OnProblem): LinkEnd | null {
  try {
    const end = explainEnd(directory, oomKills())
    return end === null ? null : { kind: 'ended', ...end }
  } catch (error) {
    onProblem(`finding out how ${directory} ended`, error)
    return null
  }
}
