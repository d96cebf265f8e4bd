import { expect } from 'vitest'
import { output } from '../support/expectations.ts'
import { Copies, type ForkSuite } from './fork-suite.ts'

const MAKE_FILES = `mkdir -p /tmp/srv/tree/deep; echo same > /tmp/srv/tree/file; chmod 640 /tmp/srv/tree/file
ln -s file /tmp/srv/tree/link; echo gone > /tmp/srv/tree/removed; rm /tmp/srv/tree/removed; echo deep > /tmp/srv/tree/deep/file`
const SHOW_FILES = 'cd /tmp/srv/tree && ls && ls deep && cat file link deep/file && readlink link'
const AS_MADE = 'deep\nfile\nlink\nfile\nsame\nsame\ndeep\nfile'

export function describeCopies(suite: ForkSuite): void {
  const { processes } = suite.options.capabilities

  suite.test('children have the files of the parent, and say where they are from', {}, async (parent) => {
    await output(parent, MAKE_FILES)
    const result = await parent.fork(3)
    await using copies = new Copies(result.children)
    expect(copies.all.length).toBe(3)
    for (const child of copies.all) {
      expect(await output(child, SHOW_FILES)).toBe(AS_MADE)
      expect(child.info).toMatchObject({ state: 'running', parent: parent.id, rung: parent.info.rung })
      expect(child.info.origin).toBe(copies.first.info.origin)
      expect(child.info.limits).toEqual(parent.info.limits)
    }
    expect(parent.info.origin).toBeNull()
    expect(copies.first.info.origin).toMatch(/^sn_/)
    expect(new Set([parent, ...copies.all].map((sandbox) => sandbox.id)).size).toBe(4)
    expect(result.memory).toBe(suite.options.capabilities.memory)
    expect(result.reason === null).toBe(result.memory)
    expect(result.pausedMs).toBeGreaterThanOrEqual(0)
  })

  suite.test('eight children have names, random numbers and clocks of their own', {}, async (parent) => {
    await using copies = new Copies((await parent.fork(8)).children)
    const everybody = [parent, ...copies.all]
    const names = await Promise.all(everybody.map((sandbox) => output(sandbox, 'hostname')))
    expect(new Set(names).size).toBe(9)
    expect(new Set(everybody.map(({ id }) => id)).size).toBe(9)
    if (processes) {
      const draw = 'head -c 16 /dev/urandom | od -An -tx1; head -c 16 /dev/random | od -An -tx1'
      const drawn = await Promise.all(everybody.map((sandbox) => output(sandbox, draw)))
      expect(new Set(drawn.flatMap((text) => text.split('\n'))).size).toBe(18)
    }
    for (const child of copies.all) {
      const before = Date.now()
      const seconds = Number(await output(child, 'date +%s'))
      expect(seconds * 1000).toBeGreaterThan(before - 3000)
      expect(seconds * 1000).toBeLessThan(Date.now() + 3000)
    }
  })

  suite.test('what one writes afterwards no other sees', {}, async (parent) => {
    await output(parent, 'echo before > /tmp/srv/shared')
    await using copies = new Copies((await parent.fork(2)).children)
    const everybody = [parent, ...copies.all]
    await Promise.all(
      everybody.map((sandbox, index) =>
        output(sandbox, `echo ${index} >> /tmp/srv/shared; echo ${index} > /tmp/srv/own-${index}`),
      ),
    )
    for (const [index, sandbox] of everybody.entries()) {
      expect(await output(sandbox, 'cat /tmp/srv/shared; ls /tmp/srv')).toBe(`before\n${index}\nown-${index}\nshared`)
    }
    await copies.first.kill()
    expect(await output(parent, 'cat /tmp/srv/own-0')).toBe('0')
  })

  suite.test('each child has what was said for it', { spec: { env: { BASE: 'b', KEPT: 'k' } } }, async (parent) => {
    const options = {
      env: { BASE: 'all' },
      metadata: { kind: 'attempt' },
      ttlMs: 600_000,
      each: [{ env: { MINE: '0' } }, { env: { BASE: 'one' }, metadata: { number: '1' }, ttlMs: 60_000 }],
    }
    await using copies = new Copies((await parent.fork(3, options)).children)
    const seen = await Promise.all(copies.all.map((child) => output(child, 'echo $BASE,$KEPT,$MINE')))
    expect(seen).toEqual(['all,k,0', 'one,k,', 'all,k,'])
    expect(copies.all.map((child) => child.info.metadata)).toEqual([
      { kind: 'attempt' },
      { kind: 'attempt', number: '1' },
      { kind: 'attempt' },
    ])
    const left = copies.all.map((child) => child.info.expiresAt.getTime() - Date.now())
    expect(left[0]).toBeGreaterThan(300_000)
    expect(left[1]).toBeLessThan(60_001)
  })

  suite.test('a fork of a fork of a fork', { timeoutMs: 60_000 }, async (parent) => {
    await output(parent, 'echo 0 > /tmp/srv/line')
    await using second = new Copies((await parent.fork(1)).children)
    await output(second.first, 'echo 1 >> /tmp/srv/line')
    await using third = new Copies((await second.first.fork(1)).children)
    await output(third.first, 'echo 2 >> /tmp/srv/line')
    await using fourth = new Copies((await third.first.fork(2)).children)
    await parent.kill()
    await third.first.kill()
    for (const child of fourth.all) {
      await output(child, 'echo 3 >> /tmp/srv/line')
      expect(await output(child, 'cat /tmp/srv/line')).toBe('0\n1\n2\n3')
      expect(child.info.parent).toBe(third.first.id)
    }
    expect(await output(second.first, 'cat /tmp/srv/line')).toBe('0\n1')
  })
}
