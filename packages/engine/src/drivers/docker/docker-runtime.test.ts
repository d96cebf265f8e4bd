import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BOUNDS, DEFAULT_LIMITS, type Limits, newSandboxId } from '@hearth/contract'
import { afterAll, describe, expect, test } from 'vitest'
import { Dialer } from '../../gateway/dial/dialer.ts'
import { CompiledPolicy } from '../../gateway/policy/compiled-policy.ts'
import { SandboxGateway } from '../../gateway/sandbox-gateway.ts'
import { SandboxSecrets } from '../../gateway/secrets/sandbox-secrets.ts'
import { readHostFacts } from '../../host/facts.ts'
import { hostPaths } from '../../host/host.ts'
import type { Machine, ProcessSpec } from '../../machine/machine.ts'
import { collectOutput } from '../../sandbox/collect-output.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import { DriverRegistry } from '../registry.ts'
import { ATTEMPTS_THAT_FAIL, ATTEMPTS_THAT_WORK, SYSCALL_ATTEMPTS } from '../seccomp/syscall-attempts.fixture.ts'
import { EngineClient } from './engine-client.ts'
import { findEngine } from './find-engine.ts'
import { startPodmanService } from './podman-service.fixture.ts'

const home = await mkdtemp(join(tmpdir(), 'hearth-docker-'))
const service = await startPodmanService(join(home, 'podman'))
if (service !== null) process.env['DOCKER_HOST'] = `unix://${service.socketPath}`
const paths = hostPaths({ ...process.env, HEARTH_HOME: join(home, 'home') })
const registry = new DriverRegistry(paths, await readHostFacts(), 0)
const driver = registry.byName('docker')
afterAll(async () => {
  await registry.services.keepers.dispose()
  await service?.[Symbol.asyncDispose]()
  await rm(home, { recursive: true, force: true })
}, 60_000)

interface Launched extends AsyncDisposable {
  readonly machine: Machine
  readonly directory: string
}

async function launch(limits: Partial<Limits> = {}): Promise<Launched> {
  const id = newSandboxId()
  const directory = join(paths.sandboxes, id)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const machine = await driver.launch({
    id,
    directory,
    template: await readHostTemplate(paths),
    from: null,
    volumes: [],
    limits: { ...DEFAULT_LIMITS, ...limits },
    hostname: 'box',
    environment: { PATH: '/usr/bin:/bin' },
    workdir: '/',
    user: 'root',
  })
  return { machine, directory, [Symbol.asyncDispose]: () => machine.kill() }
}

async function run({ machine }: Launched, command: string | string[]): Promise<string> {
  const spec: ProcessSpec = {
    command,
    env: {},
    cwd: null,
    user: null,
    timeoutMs: 60_000,
    pty: null,
    stdin: 'none',
    mergeOutput: true,
  }
  return (await collectOutput(await machine.spawn(spec), BOUNDS.frameBytes)).stdout
}

async function containers(): Promise<unknown[]> {
  return (await new EngineClient(service?.socketPath ?? '').get('/containers/json?all=1')) as unknown[]
}

async function untilNoContainers(): Promise<void> {
  for (let attempt = 0; attempt < 100 && (await containers()).length > 0; attempt++) await sleep(200)
  expect(await containers()).toEqual([])
}

describe.skipIf(service === null)('a container engine', { timeout: 120_000 }, () => {
  test('answers, and a trial container works', async () => {
    expect(await driver.probe({ fresh: true })).toMatchObject({
      available: true,
      label: expect.stringMatching(/^podman \d/) as string,
    })
  })

  test('a container is confined as on the other rungs', async () => {
    await using box = await launch()
    const attempts = JSON.parse(await run(box, ['python3', '-c', SYSCALL_ATTEMPTS])) as Record<string, string>
    expect(ATTEMPTS_THAT_WORK.filter((attempt) => attempts[attempt] !== 'ok')).toEqual([])
    expect(ATTEMPTS_THAT_FAIL.filter((attempt) => attempts[attempt] === 'ok')).toEqual([])
    expect(await run(box, "sed -n 's/^CapEff:\\s*0*//p' /proc/self/status")).toBe('4fb\n')
    expect(await run(box, 'id -u; hostname; ls /sys/class/net')).toBe('0\nbox\nlo\n')
    expect(await run(box, 'touch /new && rm /new && touch /usr/new')).toMatch(/Read-only file system/)
    expect(await run(box, 'env | grep -v ^PATH= | grep -v ^PWD= | grep -v ^_= | sort')).not.toMatch(/container|podman/i)
  })

  test('large files pass both ways unharmed', async () => {
    await using box = await launch()
    const content = Buffer.alloc(20 * 1024 * 1024, 'a line that is not a power of two long\n')
    await box.machine.files.write('/tmp/large', content)
    const digest = createHash('sha256').update(content).digest('hex')
    expect(await run(box, 'sha256sum < /tmp/large')).toContain(digest)
    expect(
      createHash('sha256')
        .update(await box.machine.files.read('/tmp/large'))
        .digest('hex'),
    ).toBe(digest)
  })

  test('names are reached through the gateway', async () => {
    const server = createServer((socket) => socket.end('reached')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await using box = await launch()
    const allow = [{ name: 'allowed.example', ports: [port], addresses: ['127.0.0.0/8'] }]
    const gateway = new SandboxGateway({
      policy: new CompiledPolicy({ allow }),
      secrets: new SandboxSecrets([]),
      dialer: new Dialer(async () => ['127.0.0.1']),
      recorder: { add: () => undefined },
      extraRoots: [],
      ownHearth: null,
    })
    await box.machine.openNetwork({ gateway, authority: 'a certificate\n' })
    const read = (name: string): string => `exec 3<>/dev/tcp/${name}/${port} && cat <&3`
    expect(await run(box, ['bash', '-c', read('allowed.example')])).toBe('reached')
    expect(await run(box, ['bash', '-c', read('other.example')])).toContain('not known')
    expect(await run(box, 'tail -1 /.hearth/certificates.crt')).toBe('a certificate\n')
    server.close()
  })

  test('limits are in force', async () => {
    await using box = await launch({ memoryBytes: 128 * 1024 * 1024, pids: 40 })
    const forks =
      'import os, time\nn = 0\ntry:\n  while n < 500:\n    if os.fork() == 0: time.sleep(2); os._exit(0)\n    n += 1\nexcept OSError: pass\nprint(n)'
    expect(Number(await run(box, ['python3', '-c', forks]))).toBeLessThan(60)
    await sleep(2500)
    expect(await run(box, 'python3 -c "x = bytearray(400 << 20)"; echo $?')).toMatch(/137|Killed/)
  })

  test('kill removes the container', async () => {
    const box = await launch()
    expect(await containers()).toHaveLength(1)
    await box.machine.kill()
    await untilNoContainers()
  })

  test('a container does not outlive its keeper', async () => {
    const box = await launch()
    const keeper = Number((await readFile(join(box.directory, 'keeper.pid'), 'utf8')).split(' ')[0])
    process.kill(keeper, 'SIGKILL')
    await box.machine.ended
    await untilNoContainers()
  })
})

describe('findEngine', () => {
  test('finds nothing where nothing answers', async () => {
    expect(await findEngine({ DOCKER_HOST: `unix://${join(home, 'nothing.sock')}` })).toBeNull()
    expect(await findEngine({ DOCKER_HOST: 'tcp://127.0.0.1:1' })).toBeNull()
  })
})
