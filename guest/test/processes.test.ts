import { setTimeout as delay } from 'node:timers/promises'
import { readFileSync, existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, SPAWN } from './guest-process.ts'
import { useGuest } from './guest-fixture.ts'

const fixture = useGuest()
const shell = (script: string) => ['sh', '-c', script]
const alive = (pid: number) => existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')

describe('processes', () => {
  it('keeps the streams apart and their order', async () => {
    const result = await fixture.guest.exec(shell('echo a; sleep 0.05; echo b >&2; sleep 0.05; echo c; exit 7'))
    expect(result).toMatchObject({
      stdout: 'a\nc\n',
      stderr: 'b\n',
      streams: [1, 2, 1],
      exited: { code: 7, signal: 0, flags: 0, outputBytes: 6n },
    })
  })

  it('merges error into output', async () => {
    const result = await fixture.guest.exec(shell('echo a; echo b >&2'), { flags: 2 })
    expect(result).toMatchObject({ stdout: 'a\nb\n', stderr: '' })
  })

  it('reports a signal', async () => {
    expect((await fixture.guest.exec(shell('kill -TERM $$'))).exited).toMatchObject({ signal: 15, code: 0 })
  })

  it.each([
    ['a program that is not there', { argv: ['no-such-program'] }, 2, 'no-such-program'],
    ['a file that is no program', { argv: ['/etc/passwd'] }, 13, '/etc/passwd'],
    ['a directory that is not there', { argv: ['true'], cwd: '/no/such' }, 2, '/no/such'],
    ['an unknown user', { argv: ['true'], user: 'nobody-of-that-name' }, 22, 'nobody-of-that-name'],
    ['no arguments', { argv: [] }, 22, 'arguments'],
    ['a zero byte', { argv: ['a\0b'] }, 22, 'arguments'],
    ['a variable without a name', { argv: ['true'], environment: ['=x'] }, 22, 'environment'],
  ])('fails for %s', async (_what, options, errno, text) => {
    const result = await fixture.guest.exec(options.argv, options)
    expect(result.failed?.errno).toBe(errno)
    expect(result.failed?.what).toContain(text)
  })

  it('searches the PATH of the new environment', async () => {
    const result = await fixture.guest.exec(['true'], { environment: ['PATH=/no/such'] })
    expect(result.failed?.errno).toBe(2)
    expect((await fixture.guest.exec(['true'], { environment: ['PATH=/no/such:/usr/bin'] })).exited?.code).toBe(0)
  })

  it('gives a clean process: no descriptors, default signals, low worth to the out-of-memory killer', async () => {
    const script =
      'ls /proc/self/fd; grep -E "SigBlk|SigIgn" /proc/self/status; cat /proc/self/oom_score_adj; pwd; env | sort'
    const { stdout } = await fixture.guest.exec(shell(script), { environment: ['X=1'], cwd: '/usr' })
    expect(stdout).toContain('0\n1\n2\n3\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n500\n/usr\n')
    expect(stdout).toContain('HOME=/root')
    expect(stdout).toContain('LANG=C.UTF-8')
    expect(stdout).toContain('X=1')
    expect(stdout).not.toContain('ASAN_OPTIONS')
  })

  it('runs as another user with that user’s groups and home', async () => {
    const { stdout } = await fixture.guest.exec(shell('id -u; id -g; echo $HOME $USER'), { user: 'daemon' })
    expect(stdout).toBe('1\n1\n/usr/sbin daemon\n')
    expect((await fixture.guest.exec(shell('id -u; id -g'), { user: '12345:54321' })).stdout).toBe('12345\n54321\n')
  })

  it('feeds standard input and its end', async () => {
    const conversation = fixture.guest.request('Spawn', { ...SPAWN, argv: ['cat'], flags: 4 })
    await conversation.expect('Spawned')
    await conversation.expect('Credit')
    conversation.send('Data', { bytes: Buffer.from('hello ') })
    conversation.send('Data', { bytes: Buffer.from('there') })
    conversation.send('Eof', {})
    const messages = await conversation.all()
    const text = messages
      .map((message) => (message.name === 'Output' ? Buffer.from(message.body.bytes).toString() : ''))
      .join('')
    expect(text).toBe('hello there')
  })

  it('feeds standard input through a channel of its own', async () => {
    const conversation = fixture.guest.request('Spawn', { ...SPAWN, argv: ['cat'], flags: 4 })
    const { process } = await conversation.expect('Spawned')
    const input = fixture.guest.request('Stdin', { process })
    await input.expect('Credit')
    input.send('Data', { bytes: Buffer.from('through') })
    input.send('Eof', {})
    expect((await input.all()).at(-1)).toMatchObject({ name: 'Done', body: { value: 7n } })
    expect((await conversation.all()).at(-1)?.name).toBe('Exited')
  })

  it('has no standard input unless asked, and says EPIPE for one that is gone', async () => {
    expect((await fixture.guest.exec(['cat'])).exited?.code).toBe(0)
    const conversation = fixture.guest.request('Spawn', { ...SPAWN, argv: shell('exec 0<&-; sleep 0.5'), flags: 4 })
    const { process } = await conversation.expect('Spawned')
    await delay(100)
    const input = fixture.guest.request('Stdin', { process })
    await input.expect('Credit')
    input.send('Data', { bytes: Buffer.from('x') })
    expect(await input.expect('Failed')).toMatchObject({ errno: 32 })
  })

  it('kills the whole tree at the timeout and keeps the output', async () => {
    const script = 'echo kept; (setsid sleep 100 & echo $! ); setsid sh -c "sleep 100 & echo \\$!; exit"; sleep 100'
    const result = await fixture.guest.exec(shell(script), { timeoutMilliseconds: 300n })
    expect(result.exited).toMatchObject({ signal: 9, flags: 1 })
    const [kept, ...pids] = result.stdout.trim().split('\n')
    expect(kept).toBe('kept')
    expect(pids).toHaveLength(2)
    await delay(100)
    expect(pids.filter((pid) => alive(Number(pid)))).toEqual([])
  })

  it('signals the group, or the whole tree', async () => {
    const conversation = fixture.guest.request('Spawn', {
      ...SPAWN,
      argv: shell('setsid sleep 100 & sleep 0.1; echo $!; wait; sleep 100'),
    })
    const { process } = await conversation.expect('Spawned')
    const detached = Number(Buffer.from((await conversation.expect('Output')).bytes).toString())
    await fixture.guest.request('Signal', { process, signal: 15, flags: 0 }).expect('Done')
    expect(await conversation.expect('Exited')).toMatchObject({ signal: 15 })
    expect(alive(detached)).toBe(true)
    await fixture.guest.request('Signal', { process, signal: 9, flags: 1 }).expect('Done')
    expect(alive(detached)).toBe(false)
    expect(await fixture.guest.request('Signal', { process, signal: 9, flags: 1 }).expect('Failed')).toMatchObject({
      errno: 3,
    })
    expect(await fixture.guest.request('Signal', { process: 999, signal: 9, flags: 0 }).expect('Failed')).toMatchObject(
      { errno: 3 },
    )
  })

  it('does not wait for those who hold the pipes, and does not break them', async () => {
    const path = `${fixture.directory}/survived`
    const started = performance.now()
    const result = await fixture.guest.exec(shell(`(sleep 0.5; echo late; echo more; echo yes > ${path}) & echo now`))
    expect(performance.now() - started).toBeLessThan(450)
    expect(result).toMatchObject({ stdout: 'now\n', exited: { code: 0 } })
    await delay(900)
    expect(readFileSync(path, 'utf8')).toBe('yes\n')
  })

  it('notices that a supervisor was killed', async () => {
    const conversation = fixture.guest.request('Spawn', { ...SPAWN, argv: shell('echo $PPID; sleep 100') })
    const { pid } = await conversation.expect('Spawned')
    process.kill(Number(Buffer.from((await conversation.expect('Output')).bytes).toString()), 'SIGKILL')
    expect(await conversation.expect('Exited')).toMatchObject({ signal: 9 })
    await delay(50)
    expect(alive(pid)).toBe(false)
  })

  it('kills what is below a supervisor that was stopped', async () => {
    const result = await fixture.guest.exec(shell('kill -STOP $PPID; sleep 100'), { timeoutMilliseconds: 100n })
    expect(result.exited).toMatchObject({ signal: 9, flags: 1 })
  })

  it('runs many at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) => fixture.guest.exec(shell(`echo ${index}`))),
    )
    expect(results.map((result) => result.stdout)).toEqual(Array.from({ length: 100 }, (_, index) => `${index}\n`))
  })

  it('passes large arguments and variables', async () => {
    const { guest } = fixture
    const large = 'x'.repeat(90_000)
    expect((await guest.exec(['echo', large])).stdout).toBe(`${large}\n`)
    expect((await guest.exec(shell('echo $LARGE'), { environment: [`LARGE=${large}`] })).stdout).toBe(`${large}\n`)
  })

  it('leaves no zombie', async () => {
    await fixture.guest.exec(shell('for i in 1 2 3 4 5; do (sleep 0.05 &) ; done'))
    await delay(300)
    const { stdout } = await fixture.guest.exec(['ps', '-o', 'stat=', '--ppid', String(fixture.guest.child.pid)])
    expect(stdout.split('\n').filter((line) => line.startsWith('Z'))).toEqual([])
  })

  it('counts processor time and duration', async () => {
    const { exited } = await fixture.guest.exec(shell('i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1'))
    expect(Number(exited?.cpuMicroseconds)).toBeGreaterThan(2000)
    expect(Number(exited?.durationMicroseconds)).toBeGreaterThan(100_000)
  })

  it('gives a terminal with a size that can change', async () => {
    const conversation = fixture.guest.request('Spawn', {
      ...SPAWN,
      argv: shell('trap "stty size; exit 5" WINCH; stty size; tty; while :; do sleep 0.05; done'),
      flags: 1,
      rows: 30,
      cols: 100,
    })
    const { process } = await conversation.expect('Spawned')
    await conversation.expect('Credit')
    await delay(300)
    await fixture.guest.request('Resize', { process, rows: 40, cols: 120 }).expect('Done')
    const result = await collect(conversation)
    expect(result.stdout).toMatch(/^30 100\r\n\/dev\/pts\/\d+\r\n40 120\r\n$/u)
    expect(result.exited?.code).toBe(5)
  })

  it('passes what is typed, interrupts and ends of file to a terminal', async () => {
    const conversation = fixture.guest.request('Spawn', {
      ...SPAWN,
      argv: shell('stty -echo; cat; echo end'),
      flags: 1,
    })
    await conversation.expect('Spawned')
    await conversation.expect('Credit')
    await delay(200)
    conversation.send('Data', { bytes: Buffer.from('typed\n') })
    conversation.send('Eof', {})
    const messages = await conversation.all()
    const text = messages
      .map((message) => (message.name === 'Output' ? Buffer.from(message.body.bytes).toString() : ''))
      .join('')
    expect(text).toBe('typed\r\nend\r\n')
  })
})
