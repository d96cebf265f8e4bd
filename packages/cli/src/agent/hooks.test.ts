import { describe, expect, it } from 'vitest'
import { hooksOf } from './hooks.ts'

const CALL = { name: 'bash', input: { command: 'ls' } }

async function before(command: string, timeoutMs?: number): Promise<unknown> {
  return await hooksOf({ hookBefore: command }, timeoutMs)?.beforeTool?.(CALL)
}

async function after(command: string): Promise<unknown> {
  return await hooksOf({ hookAfter: command })?.afterTool?.(CALL, { text: 'a b', failed: true })
}

describe('a hook', () => {
  it('before a call allows, refuses and changes it', async () => {
    expect(await before('true')).toBeUndefined()
    expect(await before('echo no >&2; exit 7')).toEqual({ deny: expect.stringMatching(/ended with 7: no$/) })
    expect(await before(`echo '{"deny":"why"}'`)).toEqual({ deny: 'why' })
    expect(await before(`sed 's/.*"command":"\\([a-z]*\\)".*/{"input":{"command":"\\1 -l"}}/'`)).toEqual({
      input: { command: 'ls -l' },
    })
  })

  it('after a call says something else, or nothing', async () => {
    expect(await after('true')).toBeUndefined()
    expect(await after(`grep -q '"result":{"text":"a b","failed":true}' && echo '{"text":"c"}'`)).toBe('c')
    await expect(after('exit 1')).rejects.toThrow(/ended with 1/)
  })

  it('that says what is no answer, or too much, or never ends has not agreed', async () => {
    await expect(before('echo yes')).rejects.toThrow(/said what is no answer: yes/)
    await expect(before(`echo '{"allow":true}'`)).rejects.toThrow(/no answer/)
    expect(await before('head -c 17000000 /dev/zero; sleep 60')).toEqual({ deny: expect.stringMatching(/was ended$/) })
    const from = performance.now()
    expect(await before('sleep 60 & sleep 60', 200)).toEqual({ deny: expect.stringMatching(/was ended$/) })
    expect(performance.now() - from).toBeLessThan(10_000)
  })

  it('is there only when one was named', () => expect(hooksOf({})).toBeUndefined())
})
