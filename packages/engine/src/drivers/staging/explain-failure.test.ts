import { expect, it } from 'vitest'
import { explainNamespaceFailure } from './explain-failure.ts'

it.each([
  ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", /systempaths=unconfined/],
  ['mount_setattr /h/cache/root (its file system cannot be id-mapped) (errno 22)', /HEARTH_HOME/],
])('%s has a way out', (reason, fix) => {
  const explained = explainNamespaceFailure(reason, { root: true })
  expect(explained.reason).toContain(reason)
  expect(explained.fix).toMatch(fix)
})

it('claims no fix for what it does not know', () => {
  expect(explainNamespaceFailure('something new', { root: true })).toEqual({ reason: 'something new', fix: null })
})
