import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { Sandbox } from '@hearth/contract'
import { output } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

/** Processes of the host whose command line holds the text. */
function hostProcesses(text: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(text)
    } catch {
      // It ended between the listing and the reading.
      return false
    }
  })
}

function statusField(pid: string, field: string): string[] {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${field}:`))
  return line?.split(/\s+/).slice(1) ?? []
}

/** The sandbox seen from the host, and what it can do to what runs it. */
export function describeHostView(suite: Suite, options: { readonly sharesKernel: boolean }): void {
  suite.test(
    'root inside is nobody outside, without rights and behind a filter',
    { needs: ['processes'] },
    async (sandbox) => {
      if (!options.sharesKernel) return
      const marker = `98765.${Math.floor(Math.random() * 1e9)}`
      await using sleeper = await sandbox.spawn(['sleep', marker])
      const found = hostProcesses(marker).filter((pid) => statusField(pid, 'Name')[0] === 'sleep')
      expect(found).toHaveLength(1)
      const [pid = ''] = found
      if (process.getuid?.() === 0)
        expect(
          statusField(pid, 'Uid')
            .map(Number)
            .every((uid) => uid !== 0),
        ).toBe(true)
      expect(statusField(pid, 'NoNewPrivs')).toEqual(['1'])
      expect(statusField(pid, 'Seccomp')).toEqual(['2'])
      await sleeper.kill()
    },
  )

  suite.own(
    'killing everything inside harms that sandbox alone',
    { needs: ['processes'], timeoutMs: 60_000 },
    async (sandbox) => {
      const neighbour = await suite.shared()
      await hostile(sandbox, 'kill -9 -1')
      await hostile(sandbox, 'kill -9 1; kill -TERM 1; kill -SEGV 1; kill -STOP 1; kill -CONT 1')
      expect(await output(neighbour, 'echo unharmed')).toBe('unharmed')
      await sandbox.kill()
      expect(await output(neighbour, 'echo still')).toBe('still')
    },
  )

  suite.own(
    'tracing the guest harms that sandbox alone',
    { needs: ['processes'], timeoutMs: 60_000 },
    async (sandbox) => {
      const program =
        'import ctypes\nlibc = ctypes.CDLL(None)\nfor pid in range(1, 50):\n  libc.ptrace(16, pid, 0, 0)\n  libc.ptrace(8, pid, 0, 0)'
      await sandbox.exec(['python3', '-c', program], { timeoutMs: 3000 }).catch(() => undefined)
      expect(await output(await suite.shared(), 'echo unharmed')).toBe('unharmed')
    },
  )
}

/** Whatever the answer is, it must come: a result or a typed error. */
async function hostile(sandbox: Sandbox, command: string): Promise<void> {
  const outcome = await sandbox.exec(command, { timeoutMs: 3000 }).catch((error: unknown) => error)
  expect(outcome).toHaveProperty(outcome instanceof Error ? 'code' : 'durationMs')
}
