import { expect } from 'vitest'
import { HearthError } from '@hearth/contract'
import { expectRefusal, output, scratch, text } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const MiB = 1024 * 1024

const MEMORY_HOG = 'blocks = []\nwhile True:\n  blocks.append(bytearray(4 << 20))'

const COUNT_FORKS = `
import os, time
count = 0
try:
    while count < 2000:
        if os.fork() == 0:
            time.sleep(3)
            os._exit(0)
        count += 1
except OSError:
    pass
print(count)
`

const COUNT_FILES = `
files = []
try:
    while len(files) < 100000:
        files.append(open("/dev/null"))
except OSError as error:
    print(len(files) + 3, error.errno)
`

export function describeLimits(suite: Suite): void {
  suite.own(
    'processes',
    { needs: ['processes', 'limits.pids'], timeoutMs: 60_000, spec: { limits: { pids: 64 } } },
    async (sandbox) => {
      const count = Number(text(await sandbox.exec(['python3', '-c', COUNT_FORKS])))
      expect(count).toBeGreaterThan(20)
      expect(count).toBeLessThanOrEqual(64)
      expect(await output(sandbox, 'echo usable')).toBe('usable')
    },
  )

  suite.own(
    'a fork bomb',
    { needs: ['processes', 'limits.pids'], timeoutMs: 90_000, spec: { limits: { pids: 100 } } },
    async (sandbox) => {
      const bomb = await sandbox.exec('bomb() { bomb | bomb & }; bomb; sleep 60', {
        timeoutMs: 2000,
        maxOutputBytes: 1000,
      })
      expect(bomb.timedOut || bomb.exitCode !== 0).toBe(true)
      expect(text(await sandbox.exec('echo usable', { timeoutMs: 20_000 }))).toBe('usable')
    },
  )

  suite.own(
    'a fork bomb that detaches itself',
    { needs: ['processes', 'limits.pids'], timeoutMs: 90_000, spec: { limits: { pids: 100 } } },
    async (sandbox) => {
      const program =
        'import os\nos.setsid()\nwhile True:\n  try:\n    os.fork()\n    os.setsid()\n  except OSError: pass'
      const bomb = await sandbox.exec(['python3', '-c', program], { timeoutMs: 2000, maxOutputBytes: 1000 })
      expect(bomb.timedOut || bomb.exitCode !== 0).toBe(true)
      expect(text(await sandbox.exec('echo usable', { timeoutMs: 20_000 }))).toBe('usable')
    },
  )

  suite.own(
    'memory: the hog is killed and told, the sandbox goes on',
    { needs: ['processes', 'limits.memoryBytes'], timeoutMs: 90_000, spec: { limits: { memoryBytes: 192 * MiB } } },
    async (sandbox) => {
      const result = await sandbox.exec(['python3', '-c', `print("started", flush=True)\n${MEMORY_HOG}`], {
        timeoutMs: 60_000,
      })
      expect(result).toMatchObject({ stdout: 'started\n', oom: true, timedOut: false })
      expect(result.exitCode).not.toBe(0)
      expect(await sandbox.exec('echo usable')).toMatchObject({ stdout: 'usable\n', oom: false, exitCode: 0 })
      const child = await sandbox.exec(`python3 -c '${MEMORY_HOG}'; echo "after"`, { timeoutMs: 60_000 })
      expect(child).toMatchObject({ stdout: 'after\n', oom: true })
      expect(await sandbox.exec('exit 1')).toMatchObject({ exitCode: 1, oom: false })
    },
  )

  suite.own(
    'memory: one demand for far too much is told, also where it ends the sandbox',
    { needs: ['processes', 'limits.memoryBytes'], timeoutMs: 90_000, spec: { limits: { memoryBytes: 128 * MiB } } },
    async (sandbox) => {
      const result = await sandbox.exec(['python3', '-c', 'print("started", flush=True)\nbytearray(1 << 30)'], {
        timeoutMs: 60_000,
      })
      // A kernel that has no more memory than this refuses such a demand before anything is out of memory.
      const refused = sandbox.info.rung === 'microvm' && result.stderr.includes('MemoryError')
      expect(result).toMatchObject({ stdout: 'started\n', oom: !refused, timedOut: false })
      expect(result.exitCode).not.toBe(0)
      const after = await sandbox.exec('echo usable').catch((error: unknown) => error)
      expect(after).toMatchObject(
        HearthError.isInstance(after)
          ? { code: 'sandbox_ended', message: expect.stringContaining('out of memory') as unknown }
          : { stdout: 'usable\n' },
      )
    },
  )

  suite.own(
    'memory: files in memory count',
    {
      needs: ['processes', 'limits.memoryBytes'],
      timeoutMs: 90_000,
      spec: { limits: { memoryBytes: 128 * MiB, diskBytes: 64 * MiB } },
    },
    async (sandbox) => {
      const fill = await sandbox.exec('head -c 1000000000 /dev/zero > /dev/shm/big', { timeoutMs: 60_000 })
      expect(fill.exitCode).not.toBe(0)
      await sandbox.exec('rm -f /dev/shm/big')
      expect(await output(sandbox, 'echo usable')).toBe('usable')
    },
  )

  suite.own(
    'disk: full inside, usable again after',
    { needs: ['processes', 'limits.diskBytes'], timeoutMs: 90_000, spec: { limits: { diskBytes: 64 * MiB } } },
    async (sandbox) => {
      for (const directory of ['/tmp', '/var/tmp', '.']) {
        const filler = await sandbox.exec(`mkdir -p ${directory}; head -c 300000000 /dev/zero > ${directory}/big`, {
          timeoutMs: 60_000,
        })
        expect(filler.exitCode, directory).not.toBe(0)
        expect(filler.stderr).toMatch(/No space left|quota exceeded/i)
        await sandbox.exec(`rm -f ${directory}/big; sync`)
      }
      await expectRefusal(sandbox.files.write(scratch('big'), Buffer.alloc(100 * MiB)), 'disk_full')
      expect(await output(sandbox, 'echo usable > /tmp/small && cat /tmp/small')).toBe('usable')
      await sandbox.files.write('/tmp/second', Buffer.alloc(5 * MiB))
    },
  )

  suite.own(
    'open files',
    { needs: ['processes', 'limits.openFiles'], spec: { limits: { openFiles: 100 } } },
    async (sandbox) => {
      const [count, code] = text(await sandbox.exec(['python3', '-c', COUNT_FILES]))
        .split(' ')
        .map(Number)
      expect(count).toBeGreaterThan(80)
      expect(count).toBeLessThanOrEqual(100)
      expect(code).toBe(24)
      expect(await output(sandbox, 'ulimit -n')).toBe('100')
      expect((await sandbox.exec('ulimit -n 5000')).exitCode).not.toBe(0)
    },
  )
}
