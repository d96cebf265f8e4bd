import { expect } from 'vitest'
import { eventually, expectRefusal, output, sleep } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

export function describeLifetime(suite: Suite): void {
  suite.own(
    'a sandbox says what it is',
    { spec: { metadata: { purpose: 'test' }, limits: { pids: 77 } } },
    async (sandbox) => {
      const { info } = sandbox
      expect(info).toMatchObject({ id: sandbox.id, state: 'running', parent: null, metadata: { purpose: 'test' } })
      expect(info.id).toMatch(/^sb_[0-9a-z]{20}$/)
      expect(info.limits).toMatchObject({ pids: 77, cpus: 1, openFiles: 4096 })
      expect(info.driver.length).toBeGreaterThan(3)
      expect(Math.abs(info.createdAt.getTime() - Date.now())).toBeLessThan(60_000)
      expect(info.expiresAt.getTime()).toBeGreaterThan(Date.now() + 60_000)
    },
  )

  suite.own('the deadline ends it', { spec: { ttlMs: 1500 }, timeoutMs: 60_000 }, async (sandbox) => {
    const running = suite.options.capabilities.processes ? sandbox.exec('sleep 100') : null
    if (running !== null) await expectRefusal(running, 'sandbox_ended')
    await eventually('it ends', () => sandbox.info.state === 'ended', 10_000)
    await expectRefusal(sandbox.exec('echo late'), 'sandbox_ended')
  })

  suite.own('the deadline can be moved', { timeoutMs: 60_000 }, async (sandbox) => {
    const soon = (await sandbox.renew(2000)).expiresAt.getTime()
    const info = await sandbox.renew(60_000)
    expect(info.expiresAt.getTime()).toBeGreaterThan(soon + 30_000)
    await sleep(2500)
    expect(await output(sandbox, 'echo alive')).toBe('alive')
    await sandbox.renew(1000)
    await eventually('it ends', () => sandbox.info.state === 'ended', 10_000)
  })

  suite.own('a deadline beyond the bounds is refused', {}, async (sandbox) => {
    for (const ttl of [0, -5, 1.5, Number.NaN, 365 * 24 * 3_600_000])
      await expectRefusal(sandbox.renew(ttl), 'invalid_request')
  })

  suite.plain('kill ends it for good, and once is as good as twice', { timeoutMs: 60_000 }, async () => {
    const sandbox = await suite.options.create()
    const running = suite.options.capabilities.processes
      ? sandbox.exec('sleep 100').catch((error: unknown) => error)
      : null
    await sleep(100)
    await Promise.all([sandbox.kill(), sandbox.kill()])
    await sandbox.kill()
    if (running !== null) expect(await running).toMatchObject({ code: 'sandbox_ended' })
    expect(sandbox.info.state).toBe('ended')
    await expectRefusal(sandbox.exec('true'), 'sandbox_ended')
    await expectRefusal(sandbox.files.read('/etc/passwd'), 'sandbox_ended')
    await expectRefusal(sandbox.stats(), 'sandbox_ended')
    await expectRefusal(sandbox.renew(5000), 'sandbox_ended')
    await sandbox[Symbol.asyncDispose]()
  })

  suite.plain('what one sandbox wrote is not in the next', { timeoutMs: 60_000 }, async () => {
    {
      await using first = await suite.options.create()
      await first.exec('echo left > /tmp/left; mkdir -p /opt; echo left > /opt/left; echo left > left')
    }
    await using second = await suite.options.create()
    expect(await output(second, 'cat /tmp/left /opt/left left 2>/dev/null; echo end')).toBe('end')
  })
}
