import type { Relative, SandboxId } from '@hearth/sdk'
import { expect, it } from 'vitest'
import { familyTree } from './family-tree.ts'

let age = 0
function relative(id: string, parent: string | null): Relative {
  const createdAt = new Date(age++)
  return {
    id: id as SandboxId,
    parent: parent as SandboxId | null,
    origin: null,
    state: 'running',
    createdAt,
    metadata: {},
  }
}

it('draws each below the one that it was forked of', () => {
  const items = [
    relative('a', null),
    relative('b', 'a'),
    relative('c', 'a'),
    relative('d', 'b'),
    relative('e', 'b'),
    relative('f', 'gone'),
    relative('g', 'c'),
  ]
  expect(familyTree(items).map(({ item, lines }) => `${lines}${item.id}`)).toEqual([
    'a',
    '├─ b',
    '│  ├─ d',
    '│  └─ e',
    '└─ c',
    '   └─ g',
    'f',
  ])
})

it('is deeper than a stack of calls', () => {
  const items = Array.from({ length: 2000 }, (_, index) => relative(`${index}`, index === 0 ? null : `${index - 1}`))
  expect(familyTree(items)).toHaveLength(2000)
})
