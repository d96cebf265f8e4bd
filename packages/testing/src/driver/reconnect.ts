import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import type { SandboxId } from '@hearth/contract'
import { joined, collectOutput, output, sleep } from '../support/expectations.ts'
import type { Suite, Survivor } from '../support/suite.ts'

interface Left {
  readonly sandbox: SandboxId
  readonly process: number
}

/** Starts the host program, waits until it has read some output, and kills it without warning. */
async function killedHost(survivor: Survivor, command: string): Promise<Left> {
  const [program, ...parameters] = survivor.argv(command, 10)
  if (program === undefined) throw new Error('the survivor has no program')
  const child = spawn(program, parameters, {
    env: { PATH: process.env['PATH'], ...survivor.environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  try {
    for await (const line of createInterface(child.stdout)) {
      if (line.startsWith('{')) return JSON.parse(line) as Left
    }
    throw new Error('the host program ended before it had a sandbox')
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

export function describeReconnect(suite: Suite): void {
  const NEEDS = { needs: ['reconnect', 'processes'], timeoutMs: 90_000 } as const
  const survivor = (): Survivor => {
    if (suite.options.survivor === undefined) throw new Error('a driver that reconnects needs a survivor in its suite')
    return suite.options.survivor
  }

  suite.plain('after kill -9 of the host process everything goes on and nothing is lost', NEEDS, async () => {
    const left = await killedHost(
      survivor(),
      'i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo "line $i"; sleep 0.03; done; exit 8',
    )
    await sleep(500)
    await using sandbox = await survivor().adopt(left.sandbox)
    expect(sandbox.id).toBe(left.sandbox)
    await using process = await sandbox.attach(left.process, { offset: 7 })
    const chunks = await collectOutput(process)
    const expected = Array.from({ length: 100 }, (_, index) => `line ${index + 1}\n`).join('')
    expect(chunks[0]).toMatchObject({ offset: 7, dropped: 0 })
    expect(joined(chunks)).toBe(expected.slice(7))
    expect(await process.wait()).toMatchObject({ exitCode: 8 })
    expect(await output(sandbox, 'echo usable')).toBe('usable')
  })

  suite.plain('the adopted sandbox can be filled, limited and killed as before', NEEDS, async () => {
    const left = await killedHost(survivor(), 'echo 1234567890; exec cat')
    await using sandbox = await survivor().adopt(left.sandbox)
    await sandbox.files.write('/tmp/after', Buffer.alloc(3_000_000, 1))
    expect((await sandbox.files.stat('/tmp/after')).size).toBe(3_000_000)
    expect(sandbox.info).toMatchObject({ id: left.sandbox, state: 'running' })
    expect(sandbox.info.expiresAt.getTime()).toBeGreaterThan(Date.now())
    const listed = await sandbox.processes()
    expect(listed.map((each) => each.id)).toContain(left.process)
    await sandbox.kill()
    await expect(survivor().adopt(left.sandbox)).rejects.toMatchObject({
      code: expect.stringMatching(/^sandbox_(ended|not_found)$/) as unknown,
    })
  })
}
