import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TestKeeper, eventually, frame } from './keeper-harness.ts'

const END = frame('KeeperEnd', 0, {})
const isRoot = process.getuid?.() === 0
const ID_BASE = 1_000_000

let place: string

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'steps-'))
  chmodSync(place, 0o755)
  for (const name of ['lower', 'lower2', 'upper', 'work', 'merged', 'source', 'target']) mkdirSync(join(place, name))
  writeFileSync(join(place, 'lower', 'base'), 'base')
  writeFileSync(join(place, 'lower2', 'second'), 'second')
  writeFileSync(join(place, 'source', 'file'), 'source')
})

afterEach(() => {
  if (readFileSync('/proc/self/mountinfo', 'utf8').includes(place)) throw new Error('something is left mounted')
  rmSync(place, { recursive: true, force: true })
})

/** Runs a command after the steps and gives what it wrote into the file `out`. */
async function outcome(
  keeper: TestKeeper,
  command: string,
  options: Parameters<TestKeeper['shell']>[1],
): Promise<string> {
  chmodSync(keeper.directory, 0o777)
  await keeper.shell(`( ${command}\n) >out 2>&1; mv out done; exec cat`, options)
  await eventually(() => keeper.has('done'))
  const text = keeper.read('done')
  keeper.connection.send(END)
  expect(await keeper.exited).toBe(0)
  return text
}

describe.runIf(isRoot)('steps as root', () => {
  it('makes directories with their modes and owners', async () => {
    await using keeper = new TestKeeper()
    const made = join(place, 'made')
    await outcome(keeper, 'true', { steps: ['mkdir', made, '1770', 'chown', made, '12', '34', 'mkdir', made, '0700'] })
    const { mode, uid, gid } = statSync(made)
    expect([mode & 0o7777, uid, gid]).toEqual([0o1770, 12, 34])
  })

  it('shows a read-only bind', async () => {
    await using keeper = new TestKeeper()
    const steps = ['bind', join(place, 'source'), join(place, 'target'), 'ro']
    const text = await outcome(keeper, `cat ${place}/target/file; echo; touch ${place}/target/x; echo $?`, { steps })
    expect(text).toMatch(/^source\n.*Read-only file system\n1\n$/)
    expect(readdirSync(join(place, 'target'))).toEqual([])
  })

  it('shows a tmpfs with its limit', async () => {
    await using keeper = new TestKeeper()
    const steps = ['tmpfs', join(place, 'target'), 'size=1m,mode=0711']
    const text = await outcome(
      keeper,
      `stat -fc %T ${place}/target; stat -c %a ${place}/target; head -c 2000000 /dev/zero >${place}/target/x; echo $?`,
      { steps },
    )
    expect(text).toMatch(/^tmpfs\n711\n.*No space left on device\n1\n$/s)
  })

  it('shows an overlay through an id mapping, for a runtime inside the namespace', async () => {
    await using keeper = new TestKeeper()
    const [upper, work] = [join(place, 'upper'), join(place, 'work')]
    const steps = ['chown', upper, `${ID_BASE}`, `${ID_BASE}`, 'chown', work, `${ID_BASE}`, `${ID_BASE}`]
    steps.push(
      'overlay',
      join(place, 'merged'),
      `${join(place, 'lower')}:${join(place, 'lower2')}`,
      upper,
      work,
      'idmap',
    )
    const command = `cd ${place}/merged; id -u; id -G; cat base second; stat -c ' %u' base; echo new >base; stat -c %u base; cat /proc/self/uid_map`
    const text = await outcome(keeper, command, { steps, idBase: ID_BASE, idCount: 65_536, flags: 1 })
    expect(text.replaceAll(/ +/g, ' ')).toBe(`0\n0\nbasesecond 0\n0\n 0 ${ID_BASE} 65536\n`)
    expect(statSync(join(upper, 'base')).uid).toBe(ID_BASE)
    expect(readFileSync(join(place, 'lower', 'base'), 'utf8')).toBe('base')
  })

  it('shows an id-mapped bind to a runtime outside the namespace', async () => {
    await using keeper = new TestKeeper()
    const steps = ['bind', join(place, 'source'), join(place, 'target'), 'idmap,ro']
    const text = await outcome(keeper, `stat -c %u ${place}/target/file ${place}/source/file; id -u`, {
      steps,
      idBase: ID_BASE,
      idCount: 65_536,
    })
    expect(text).toBe(`${ID_BASE}\n0\n0\n`)
  })

  it('says which file system cannot be mapped', async () => {
    await using keeper = new TestKeeper()
    const steps = ['bind', '/proc', join(place, 'target'), 'idmap']
    await expect(keeper.launch({ steps, idBase: ID_BASE, idCount: 10 })).rejects.toThrow(
      '22 mount_setattr /proc (its file system cannot be id-mapped)',
    )
  })

  it('names the step that failed', async () => {
    await using keeper = new TestKeeper()
    const steps = [
      'overlay',
      join(place, 'merged'),
      join(place, 'nowhere'),
      join(place, 'upper'),
      join(place, 'work'),
      '-',
    ]
    await expect(keeper.launch({ steps })).rejects.toThrow(`2 overlay on ${join(place, 'merged')}`)
  })

  it('refuses a place of mounts that links lead to', async () => {
    const source = join(place, 'source')
    mkdirSync(join(source, 'inside'))
    writeFileSync(join(source, 'inside', 'file'), '')
    symlinkSync('inside', join(source, 'near'))
    symlinkSync('../target', join(source, 'far'))
    await using keeper = new TestKeeper()
    const good = ['/inside', '/inside/file', '/inside/absent', '/absent/below'].flatMap((path) => [
      'unlinked',
      source,
      path,
    ])
    await outcome(keeper, 'true', { steps: good })
    for (const path of ['/near', '/near/file', '/near/absent', '/far', '/far/absent']) {
      await using refusing = new TestKeeper()
      await expect(refusing.launch({ steps: ['unlinked', source, path] })).rejects.toThrow(
        `40 the root has a link where something is mounted: ${path}`,
      )
    }
  })

  it('makes a plain directory of a subvolume elsewhere than on btrfs, unless it is to be limited', async () => {
    await using keeper = new TestKeeper()
    await outcome(keeper, 'true', { steps: ['subvolume', join(place, 'plain'), '0'] })
    expect(statSync(join(place, 'plain')).isDirectory()).toBe(true)
    await using other = new TestKeeper()
    await expect(other.launch({ steps: ['subvolume', join(place, 'limited'), '1000000'] })).rejects.toThrow(
      '95 subvolume',
    )
  })
})

describe.runIf(isRoot && existsSync('/sys/fs/cgroup/pids'))('cgroups', () => {
  it('are made, joined and limited before the runtime starts', async () => {
    const cgroups = ['pids', 'memory'].map(
      (controller) => `/sys/fs/cgroup/${controller}/keeper-test-${process.pid}/one`,
    )
    await using keeper = new TestKeeper()
    const text = await outcome(
      keeper,
      `cat ${cgroups[0]}/pids.max; grep -cE ':(pids|memory):/keeper-test-${process.pid}/one' /proc/self/cgroup`,
      {
        cgroups,
        writes: [`${cgroups[0]}/pids.max`, '50'],
      },
    )
    expect(text).toBe('50\n2\n')
    // With the sandbox goes its cgroup; the one above it may have others.
    for (const cgroup of cgroups) {
      expect(existsSync(cgroup)).toBe(false)
      rmdirSync(join(cgroup, '..'))
    }
  })

  it('take memory from the runtime, not from the keeper', { timeout: 30_000 }, async () => {
    const cgroup = `/sys/fs/cgroup/memory/keeper-test-${process.pid}/two`
    await using keeper = new TestKeeper()
    // Small ones, each no larger than a keeper, together more than there is.
    const command = `i=0; while [ $i -lt 150 ]; do sleep 100 & i=$((i+1)); done; sleep 0.2; cat ${cgroup}/cgroup.procs`
    const text = await outcome(
      keeper,
      `${command}; head -c 200000000 /dev/zero | tail -c 190000000 | wc -c; cat ${cgroup}/memory.oom_control`,
      {
        cgroups: [cgroup],
        writes: [`${cgroup}/memory.limit_in_bytes`, '134217728'],
      },
    )
    expect(text.split('\n').length).toBeGreaterThan(150)
    expect(text.split('\n')).not.toContain(String(keeper.process.pid))
    expect(text).toMatch(/oom_kill [1-9]/)
    rmdirSync(join(cgroup, '..'))
  })

  it('say why they cannot be joined', async () => {
    await using keeper = new TestKeeper()
    await expect(keeper.launch({ cgroups: ['/proc/nowhere/at/all'] })).rejects.toThrow(
      '2 cgroup /proc/nowhere/at: mkdir',
    )
    expect(await keeper.exited).toBe(1)
  })
})

describe('steps without root', () => {
  it('has a mount namespace of its own, as root of its own user', async () => {
    await using keeper = isRoot ? new TestKeeper(4242) : new TestKeeper()
    if (isRoot)
      for (const path of [keeper.directory, place, ...readdirSync(place).map((name) => join(place, name))])
        execFileSync('chown', ['-R', '4242:4242', path])
    const steps = ['tmpfs', join(place, 'target'), 'size=1m', 'mkdir', join(place, 'target', 'x'), '0755']
    steps.push(
      'overlay',
      join(place, 'merged'),
      join(place, 'lower'),
      join(place, 'upper'),
      join(place, 'work'),
      'userxattr',
    )
    steps.push('bind', join(place, 'source'), join(place, 'target', 'x'), 'ro')
    const command = `id -u; cat ${place}/target/x/file; echo; echo new >${place}/merged/base; cat ${place}/merged/base`
    expect(await outcome(keeper, command, { steps, flags: 2, idCount: 1 })).toBe('0\nsource\nnew\n')
    expect(readFileSync(join(place, 'lower', 'base'), 'utf8')).toBe('base')
  })
})
