import { provesFix, type SearchProgress } from '@hearth/agent'
import { printable } from './printable.ts'

/** What a person is told of a search; null for what others tell. */
export function progressLine(progress: SearchProgress): string | null {
  switch (progress.type) {
    case 'judging_base':
      return 'judging the base'
    case 'base':
      return baseLine(progress.base)
    case 'attempting':
      return null
    case 'judging':
      return `judging ${printable(progress.name)}`
    case 'judged':
      return `${printable(progress.name)}: ${progress.outcome}`
    case 'comparing':
      return `comparing ${printable(progress.first)} with ${printable(progress.second)}`
  }
}

function baseLine(base: Extract<SearchProgress, { type: 'base' }>['base']): string {
  const parts = [
    `${base.passing.length} checks pass`,
    `${base.failing.length} fail`,
    ...(base.flaky.length === 0 ? [] : [`${base.flaky.length} are flaky`]),
  ]
  const line = `the base: ${parts.join(', ')}`
  return provesFix(base)
    ? line
    : `${line}\n! no check fails, so that passing does not show a fix: name what must be fixed with --target`
}
