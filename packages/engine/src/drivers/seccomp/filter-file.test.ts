import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../staging/programs.ts'
import { filterFile } from './filter-file.ts'
import { ATTEMPTS_THAT_WORK, SYSCALL_ATTEMPTS } from './syscall-attempts.fixture.ts'

const execute = promisify(execFile)
const bwrap = await findProgram('bwrap')
const PYTHON = '/usr/bin/python3'

/** A plain bubblewrap with the filter and nothing else that would refuse. */
async function runFiltered(cache: string, command: readonly string[]): Promise<string> {
  const filter = await filterFile({ cache })
  const script = 'exec "$@" 9<"$FILTER"'
  const base = [
    bwrap ?? '',
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    '--unshare-user',
    '--seccomp',
    '9',
    '--',
  ]
  const { stdout } = await execute('/bin/sh', ['-c', script, 'sh', ...base, ...command], {
    env: { PATH: '/usr/bin:/bin', FILTER: filter },
    timeout: 15_000,
  })
  return stdout
}

describe.skipIf(bwrap === null || !existsSync(PYTHON))('the filter in the kernel', () => {
  let cache = ''
  beforeAll(async () => {
    cache = await mkdtemp(join(tmpdir(), 'hearth-filter-'))
  })
  afterAll(async () => await rm(cache, { recursive: true, force: true }))

  it('allows and refuses as the policy says', async () => {
    const results = JSON.parse(await runFiltered(cache, [PYTHON, '-c', SYSCALL_ATTEMPTS])) as Record<string, string>
    const expected = {
      ...Object.fromEntries(ATTEMPTS_THAT_WORK.map((name) => [name, 'ok'])),
      ...Object.fromEntries(['audit', 'packet', 'vsock', 'mptcp', 'sctp'].map((name) => [name, 'EAFNOSUPPORT'])),
      ...Object.fromEntries(['TIOCSTI', 'TIOCSTI with a high bit', 'TIOCLINUX'].map((name) => [name, 'EPERM'])),
      ...Object.fromEntries(
        ['user namespace', 'namespace by clone', 'mount', 'setns', 'bpf'].map((name) => [name, 'EPERM']),
      ),
      ...Object.fromEntries(['keyctl', 'perf', 'userfaultfd', 'handle'].map((name) => [name, 'EPERM'])),
      ...Object.fromEntries(['io_uring', 'unknown'].map((name) => [name, 'ENOSYS'])),
    }
    expect(results).toEqual(expected)
  })

  it('lets ordinary tools work', async () => {
    const script =
      'ls -la / >/dev/null && echo a | sort | tail -1 && find /etc -maxdepth 1 -name hosts && tar c /etc/hostname 2>/dev/null | wc -c'
    expect(await runFiltered(cache, ['/bin/sh', '-c', script])).toMatch(/^a\n\/etc\/hosts\n\d+\n$/)
  })

  it('writes the file once', async () => {
    expect(await filterFile({ cache })).toBe(await filterFile({ cache }))
  })
})
