import { describe, expect, it } from 'vitest'
import type { ChangeRecord } from './change-record.ts'
import { planMerge, selectChanges } from './merge-plan.ts'
import { recordOf } from './testing/record.fixture.ts'

function change(words: string): ChangeRecord {
  const [kind, path = '', type = 'file'] = words.split(' ')
  return recordOf({ change: kind as ChangeRecord['change'], type: type as ChangeRecord['type'], path })
}

function plan(child: readonly string[], parent: readonly string[]) {
  const { apply, contested, conflicts } = planMerge(child.map(change), parent.map(change))
  return { apply: apply.map(({ path }) => path), contested, conflicts: conflicts.map(({ path }) => path) }
}

describe('the plan of a merge', () => {
  it('takes what only the child changed', () => {
    expect(plan(['added a', 'changed b', 'removed c'], ['changed d', 'removed e'])).toEqual({
      apply: ['a', 'b', 'c'],
      contested: [],
      conflicts: [],
    })
  })

  it('leaves to the content what both changed, and takes a removal by both for one', () => {
    expect(
      plan(
        ['changed a', 'removed b', 'removed c', 'added d directory'],
        ['changed a', 'changed b', 'removed c', 'added d directory'],
      ),
    ).toEqual({
      apply: ['a', 'b', 'd'],
      contested: ['a', 'b', 'd'],
      conflicts: [],
    })
  })

  it('refuses changes in what the other removed or replaced', () => {
    expect(plan(['changed dir/deep/file'], ['removed dir directory']).conflicts).toEqual(['/dir/deep/file'])
    expect(plan(['added dir/new'], ['changed dir symlink']).conflicts).toEqual(['/dir/new'])
    expect(plan(['removed dir directory'], ['changed dir/file']).conflicts).toEqual(['/dir/file'])
    expect(plan(['changed dir file'], ['added dir/new']).conflicts).toEqual(['/dir/new'])
    expect(plan(['removed dir directory'], ['removed dir/file'])).toEqual({
      apply: ['dir'],
      contested: [],
      conflicts: [],
    })
    expect(plan(['removed dir/file'], ['removed dir directory'])).toEqual({ apply: [], contested: [], conflicts: [] })
    // A name that only begins alike is another place.
    expect(plan(['changed dir-2/file'], ['removed dir directory']).conflicts).toEqual([])
  })

  it('takes the directories along that chosen files need', () => {
    const changes = [
      'added a directory',
      'added a/b directory',
      'added a/b/c',
      'added a/x',
      'removed r/gone',
      'changed r directory',
    ].map(change)
    const select = (paths: string[] | null) => selectChanges(changes, paths).map(({ path }) => path)
    expect(select(['a/b/c'])).toEqual(['a', 'a/b', 'a/b/c'])
    expect(select(['a/b'])).toEqual(['a', 'a/b', 'a/b/c'])
    expect(select(['r/gone'])).toEqual(['r/gone'])
    expect(select(['b'])).toEqual([])
    expect(select([''])).toHaveLength(6)
    expect(select(null)).toHaveLength(6)
  })
})
