import { expect, it } from 'vitest'
import { EscapeKeys } from './escape-keys.ts'

/** What passes of the pieces, and whether they ended with the keys that leave. */
function typed(...pieces: string[]): [pass: string, leave: boolean] {
  const keys = new EscapeKeys()
  let pass = ''
  for (const piece of pieces) {
    const found = keys.push(Buffer.from(piece))
    pass += Buffer.from(found.pass).toString()
    if (found.leave) return [pass, true]
  }
  return [pass, false]
}

it.each([
  [['ls\r'], 'ls\r', false],
  [['~.'], '', true],
  [['ls\r~.rest'], 'ls\r', true],
  [['ls\r', '~', '.'], 'ls\r', true],
  [['cd ~.\r'], 'cd ~.\r', false],
  [['~/bin\r'], '~/bin\r', false],
  [['~~.'], '~.', false],
  [['~\r~.'], '~\r', true],
])('%j', (pieces, pass, leave) => expect(typed(...pieces)).toEqual([pass, leave]))
