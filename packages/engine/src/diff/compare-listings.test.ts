import { describe, expect, it } from 'vitest'
import type { ChangeRecord } from './change-record.ts'
import { compareListings } from './compare-listings.ts'
import { recordOf } from './testing/record.fixture.ts'

/** `change type path`, with an inode that tells whether it is the same file. */
function record(words: string, inode = 1n): ChangeRecord {
  const [change, type, path = ''] = words.split(' ')
  return recordOf({
    change: change as ChangeRecord['change'],
    type: type as ChangeRecord['type'],
    path,
    inode,
    target: type === 'symlink' ? 'x' : '',
  })
}

function compare(before: readonly ChangeRecord[], after: readonly ChangeRecord[]): string[] {
  return compareListings(before, after).map(({ change, type, path }) => `${change} ${type} ${path}`)
}

describe('two listings against one template', () => {
  it('have no difference where both differ in the same way', () => {
    const same = ['added directory a', 'added file a/b', 'removed file c', 'added symlink l'].map((words) =>
      record(words),
    )
    expect(compare(same, same)).toEqual([])
  })

  it('differ in what is new, other or gone', () => {
    const before = [
      record('added file kept'),
      record('added file edited'),
      record('added file gone'),
      record('removed file back'),
    ]
    const after = [
      record('added file kept'),
      record('added file edited', 2n),
      record('changed file motd'),
      record('added file x'),
    ]
    expect(compare(before, after)).toEqual([
      'added file back',
      'changed file edited',
      'removed file gone',
      'changed file motd',
      'added file x',
    ])
  })

  it('know what was removed after it was changed, and made after it was removed', () => {
    expect(
      compare(
        [record('changed file a'), record('removed file b')],
        [record('removed file a'), record('changed file b')],
      ),
    ).toEqual(['removed file a', 'added file b'])
  })

  it('name a removed directory alone, and a type that changed', () => {
    const before = [
      record('added directory d'),
      record('added directory d/e'),
      record('added file d/e/f'),
      record('added directory t'),
    ]
    expect(compare([...before, record('added file t/x')], [record('added file t')])).toEqual([
      'removed directory d',
      'changed file t',
    ])
  })

  it('come in the order of a walk', () => {
    const after = ['added directory a', 'added file a-b', 'added file a/z'].map((words) => record(words))
    expect(compare([], after)).toEqual(['added directory a', 'added file a/z', 'added file a-b'])
  })
})
