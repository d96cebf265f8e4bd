import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { DEFAULT_LIMITS, type Limits, newSandboxId, type Process } from '@hearth/contract'
import { describe, expect, it } from 'vitest'
import type { Machine, ProcessSpec } from '../../machine/machine.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import { SimulatedDriver } from './simulated-driver.ts'

const template = await readHostTemplate({ home: tmpdir() })

async function launch(limits: Partial<Limits> = {}, interpreters = false): Promise<Machine> {
  return await new SimulatedDriver({ interpreters }).launch({
    id: newSandboxId(),
    directory: tmpdir(),
    template,
    from: null,
    volumes: [],
    limits: { ...DEFAULT_LIMITS, ...limits },
    hostname: 'simulated',
    environment: {},
    workdir: '/home/user',
    user: '',
  })
}

function spec(command: ProcessSpec['command'], more: Partial<ProcessSpec> = {}): ProcessSpec {
  const none = { env: {}, cwd: null, user: null, timeoutMs: 0, pty: null, stdin: 'none', mergeOutput: false } as const
  return { ...none, command, ...more }
}

async function text(process: Process): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const chunk of process.output) parts.push(chunk.data)
  return Buffer.concat(parts).toString('utf8')
}

async function run(
  machine: Machine,
  command: ProcessSpec['command'],
  more: Partial<ProcessSpec> = {},
): Promise<string> {
  return await text(await machine.spawn(spec(command, more)))
}

describe('output', () => {
  it('comes while the command runs, also from within loops, branches and lists', async () => {
    const machine = await launch()
    const process = await machine.spawn(
      spec('for i in 1 2; do if true; then echo $i | cat && sleep 0.05; fi; done; case x in x) sleep 10;; esac'),
    )
    const iterator = process.output[Symbol.asyncIterator]()
    expect((await iterator.next()).value).toMatchObject({ data: Buffer.from('1\n'), stream: 'stdout', offset: 0 })
    expect((await iterator.next()).value?.offset).toBe(2)
    await process.kill()
    expect(await process.wait()).toMatchObject({ signal: 'SIGKILL', exitCode: null })
  })

  it('is kept when the time is over', async () => {
    const machine = await launch()
    const process = await machine.spawn(spec('echo before; echo problem >&2; sleep 10; echo after', { timeoutMs: 100 }))
    expect(await text(process)).toBe('before\nproblem\n')
    expect(await process.wait()).toMatchObject({ timedOut: true, signal: 'SIGKILL' })
  })

  it('goes where the script sends it', async () => {
    const machine = await launch()
    const script = `
      echo hidden > /dev/null; echo file > /tmp/f; cat /tmp/f
      { echo group; echo error >&2; } 2> /tmp/e; cat /tmp/e
      (echo sub) | tr a-z A-Z; x=$(echo captured); echo "$x"
      f() { echo "in f $1"; }; f arg; f piped | cat; sh -c 'echo inner' > /tmp/i; cat /tmp/i
      while read -r line; do echo "read $line"; done < /tmp/f
      echo to-error 1>&2 2>&1; ! false; echo "status $?"; set -e; false; echo never`
    expect(await run(machine, script, { mergeOutput: true })).toBe(
      'file\ngroup\nerror\nSUB\ncaptured\nin f arg\nin f piped\ninner\nread file\nto-error\nstatus 0\n',
    )
  })

  it('keeps bytes that are no text', async () => {
    const machine = await launch()
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    await machine.files.write('/tmp/bytes', bytes)
    const process = await machine.spawn(spec(['cat', '/tmp/bytes']))
    const chunks: Uint8Array[] = []
    for await (const chunk of process.output) chunks.push(chunk.data)
    expect(Buffer.concat(chunks)).toEqual(Buffer.from(bytes))
  })
})

describe('limits', () => {
  it('a busy loop neither outlives its time nor holds up the process', async () => {
    const machine = await launch()
    const started = performance.now()
    const busy = machine
      .spawn(spec('while true; do :; done', { timeoutMs: 300 }))
      .then(async (each) => await each.wait())
    let longest = 0
    for (let last = performance.now(); performance.now() - started < 250; last = performance.now()) {
      await sleep(1)
      longest = Math.max(longest, performance.now() - last)
    }
    expect(longest).toBeLessThan(100)
    expect(await busy).toMatchObject({ timedOut: true })
    expect(performance.now() - started).toBeLessThan(2000)
  })

  it('a full disk is an error of the command and of the call, and removing files helps', async () => {
    const machine = await launch({ diskBytes: 16 * 1024 * 1024 })
    const half = new Uint8Array(9 * 1024 * 1024)
    await machine.files.write('/tmp/a', half)
    await expect(machine.files.write('/tmp/b', half)).rejects.toMatchObject({ code: 'disk_full' })
    expect(await run(machine, 'cp /tmp/a /tmp/c; echo $?')).not.toBe('0\n')
    expect((await machine.stats()).diskUsedBytes).toBeLessThan(10 * 1024 * 1024)
    await machine.files.remove('/tmp/a')
    await machine.files.write('/tmp/b', half)
  })

  it('entries are bounded', async () => {
    const machine = await launch()
    const fill = async (): Promise<void> => {
      for (let index = 0; index < 201_000; index++) await machine.files.makeDirectory(`/tmp/${index}`)
    }
    await expect(fill()).rejects.toMatchObject({ code: 'disk_full' })
  })
})

describe('machine', () => {
  it('is made in under 5 milliseconds', async () => {
    const times: number[] = []
    for (let index = 0; index < 20; index++) {
      const started = performance.now()
      const machine = await launch()
      expect(await run(machine, 'echo hi')).toBe('hi\n')
      times.push(performance.now() - started)
    }
    expect(Math.min(...times)).toBeLessThan(5)
  })

  it('refuses what it does not have', async () => {
    const machine = await launch()
    const unsupported = { code: 'capability_unsupported' }
    await expect(machine.spawn(spec('true', { pty: { rows: 1, cols: 1 } }))).rejects.toMatchObject(unsupported)
    await expect(machine.spawn(spec('true', { user: 'root' }))).rejects.toMatchObject(unsupported)
    await expect(machine.connect(80)).rejects.toMatchObject(unsupported)
    await expect(machine.spawn(spec(['python3']))).rejects.toMatchObject({ code: 'spawn_failed' })
  })

  it('gives nothing after its end', async () => {
    const machine = await launch()
    const process = await machine.spawn(spec('sleep 100'))
    await machine.kill()
    expect(await process.wait()).toMatchObject({ signal: 'SIGKILL' })
    expect(await machine.ended).toMatchObject({ reason: 'killed' })
    await expect(machine.files.read('/etc/passwd')).rejects.toMatchObject({ code: 'sandbox_ended' })
    await expect(machine.spawn(spec('true'))).rejects.toMatchObject({ code: 'sandbox_ended' })
  })

  it('runs python and javascript when it is told to', { timeout: 30_000 }, async () => {
    const machine = await launch({}, true)
    expect(await run(machine, ['python3', '-c', 'print(sum(range(10)))'])).toBe('45\n')
    expect(await run(machine, ['js-exec', '-c', 'console.log(6 * 7)'])).toBe('42\n')
  })
})
