import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_LIMITS, newSandboxId } from '@hearth/contract'
import { afterAll, describe, expect, it } from 'vitest'
import { readHostFacts } from '../../host/facts.ts'
import { hostPaths } from '../../host/host.ts'
import type { Machine } from '../../machine/machine.ts'
import { runCommand } from '../../machine/run-command.fixture.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import { DriverRegistry } from '../registry.ts'
import { ATTEMPTS_THAT_FAIL, ATTEMPTS_THAT_WORK, SYSCALL_ATTEMPTS } from '../seccomp/syscall-attempts.fixture.ts'

const home = await mkdtemp(join(tmpdir(), 'hearth-runtimes-'))
const paths = hostPaths({ ...process.env, HEARTH_HOME: home })
const registry = new DriverRegistry(paths, await readHostFacts(), 0)
afterAll(async () => {
  await registry.services.keepers.dispose()
  await rm(home, { recursive: true, force: true })
})

async function launch(name: string): Promise<Machine> {
  const id = newSandboxId()
  const directory = join(paths.sandboxes, id)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  return await registry.byName(name).launch({
    id,
    directory,
    template: await readHostTemplate(paths),
    from: null,
    volumes: [],
    limits: { ...DEFAULT_LIMITS, diskBytes: 32 * 1024 * 1024 },
    hostname: 'box',
    environment: { PATH: '/usr/bin:/bin' },
    workdir: '/',
    user: 'root',
  })
}

/** The drivers that no other suite singles out: where crun works, runc is never chosen. */
describe.each(['bubblewrap', 'crun', 'runc', 'runsc'])('%s', { timeout: 60_000 }, (name) => {
  it('works, or says why not', async (context) => {
    const probe = await registry.byName(name).probe()
    if (!probe.available) return context.skip(probe.reason)
    const machine = await launch(name)
    try {
      const attempts = JSON.parse(await runCommand(machine, ['python3', '-c', SYSCALL_ATTEMPTS])) as Record<
        string,
        string
      >
      expect(ATTEMPTS_THAT_WORK.filter((attempt) => attempts[attempt] !== 'ok')).toEqual([])
      expect(ATTEMPTS_THAT_FAIL.filter((attempt) => attempts[attempt] === 'ok')).toEqual([])

      // Exactly the eight capabilities of the guest.
      expect(await runCommand(machine, "sed -n 's/^CapEff:\\s*0*//p' /proc/self/status")).toBe('4fb\n')
      expect(await runCommand(machine, 'id -u; hostname; ls /proc/self/fd | wc -l; cat /proc/1/comm')).toMatch(
        /^0\nbox\n4\n/,
      )
      expect(await runCommand(machine, 'echo x > /proc/sys/kernel/domainname; echo $?')).toMatch(/[12]\n$/)
      expect(await runCommand(machine, 'cat /proc/keys /proc/kallsyms 2>/dev/null | wc -c')).toBe('0\n')
      expect(await runCommand(machine, 'head -c 100000000 /dev/zero > /tmp/big; rm /tmp/big')).toMatch(
        /No space left|quota/i,
      )
      expect(await runCommand(machine, 'touch /etc/new /new && rm /etc/new /new && touch /usr/new')).toMatch(
        /Read-only file system/,
      )
      expect(
        await runCommand(
          machine,
          'python3 -c "import socket; s = socket.create_server((\'127.0.0.1\', 80)); print(s.getsockname()[1])"',
        ),
      ).toBe('80\n')
    } finally {
      await machine.kill()
    }
  })
})
