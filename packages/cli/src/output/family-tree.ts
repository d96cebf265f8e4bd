import type { Relative } from '@hearth/sdk'

export interface Branch {
  readonly item: Relative
  /** What is drawn before it, like `│  └─ `. */
  readonly lines: string
}

/** Each below the one that it was forked of, oldest first. One whose parent is not among them is at the top. */
export function familyTree(items: readonly Relative[]): Branch[] {
  const known = new Set(items.map(({ id }) => id))
  const children = Map.groupBy(items, ({ parent }) => (parent !== null && known.has(parent) ? parent : null))
  const branches: Branch[] = []
  // A stack of its own: forks of forks may be deeper than calls can be.
  const waiting = topFirst(children.get(null) ?? []).map((item) => ({ item, lines: '', below: '' }))
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { item, lines, below } = next
    branches.push({ item, lines })
    const own = topFirst(children.get(item.id) ?? [])
    for (const [index, child] of own.entries()) {
      const isLast = index === 0
      waiting.push({
        item: child,
        lines: `${below}${isLast ? '└─ ' : '├─ '}`,
        below: `${below}${isLast ? '   ' : '│  '}`,
      })
    }
  }
  return branches
}

/** For a stack: the oldest is taken first. */
function topFirst(items: readonly Relative[]): Relative[] {
  return items.toSorted((left, right) => right.createdAt.getTime() - left.createdAt.getTime())
}
