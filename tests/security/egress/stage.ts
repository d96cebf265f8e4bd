// One rung against a hostile internet: `stage.ts RUNG TEMPLATE REPORT`, run by `unshare --net`. Writes what happened to REPORT, as JSON.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Policy, RecordEntry, Rung, Secret } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import {
  HOST_ADDRESS,
  INTERNET_ADDRESS,
  NAMES,
  VALUES,
  type InternetReport,
  type Outcome,
  type StageReport,
} from './places.ts'
import { searchFiles } from './search-files.ts'

type Sandbox = Awaited<ReturnType<Hearth['create']>>

const [rung = 'process', template = 'host', reportFile = ''] = process.argv.slice(2)
// What follows talks to addresses of strangers: only where nobody is there but the test's own internet.
if (Object.values(networkInterfaces()).flat().length > 0) throw new Error('this needs an empty network namespace')

const ABSTRACT = 'hearth-egress-witness'
const PROGRAMS = ['wire.py', 'bypass.py', 'theft.py', 'search.py'] as const
const hostServices: string[] = []
const record: RecordEntry[] = []
const resolved: string[] = []

const POLICY: Policy = {
  allow: [
    { name: 'allowed.example', ports: [80, 443] },
    { name: 'rules.example', ports: [80, 443], methods: ['GET'], paths: ['/open/**'] },
    { name: 'vault.example', ports: [80, 443] },
    { name: 'other.example', ports: [443] },
    { name: 'proxy.example', ports: [1080, 3128] },
    { name: 'rebind.example', ports: [8000] },
    { name: '*.wild.example', ports: [443] },
    { name: '*.inner.example', ports: [80, 7420] },
  ],
  proxy: true,
}
/** Programs go straight to names; what the proxy leads to is tried by hand. */
const STRAIGHT = { NO_PROXY: '*', no_proxy: '*' }

const bound = (name: string, header = 'authorization'): Secret['binding'] => ({
  name,
  placement: { in: 'header', header },
})
const BINDINGS: Readonly<Record<keyof typeof VALUES, Secret['binding']>> = {
  VAULT: bound('vault.example'),
  OTHER: bound('other.example'),
  DEPLOY: { ...bound('vault.example', 'x-deploy-key'), methods: ['POST'], paths: ['/repos/*/*/git-receive-pack'] },
  QUERY: { name: 'vault.example', placement: { in: 'query', key: 'key' } },
  FIELD: { name: 'vault.example', placement: { in: 'json', field: 'auth.token' } },
  BASIC: { name: 'vault.example', placement: { in: 'basic' } },
}

function findSecret(name: string): Secret | null {
  if (!Object.hasOwn(VALUES, name)) return null
  const key = name as keyof typeof VALUES
  return { name, value: VALUES[key], binding: BINDINGS[key] }
}

/** The internet, in another namespace at the other end of a wire. */
async function startInternet(): Promise<{ internet: ChildProcess; root: string }> {
  const program = join(import.meta.dirname, 'internet.ts')
  const internet = spawn('unshare', ['--net', process.execPath, program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ip = (...words: readonly string[]): Buffer => execFileSync('ip', words)
  ip('link', 'set', 'lo', 'up')
  await once(internet, 'spawn')
  await moved(internet)
  ip('link', 'add', 'outward', 'type', 'veth', 'peer', 'name', 'inward', 'netns', String(internet.pid))
  ip('addr', 'add', `${HOST_ADDRESS}/24`, 'dev', 'outward')
  ip('addr', 'add', '192.168.77.2/32', 'dev', 'lo')
  ip('link', 'set', 'outward', 'up')
  ip('route', 'add', 'default', 'via', INTERNET_ADDRESS)
  internet.send('linked')
  const [{ root }] = (await once(internet, 'message')) as [{ root: string }]
  return { internet, root }
}

/** Until it is in the namespace of its own. */
async function moved({ pid }: ChildProcess): Promise<void> {
  const namespace = async (who: string): Promise<string> => execFileSync('readlink', [`/proc/${who}/ns/net`]).toString()
  const own = await namespace('self')
  while ((await namespace(String(pid))) === own) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** What a sandbox must not find on the host: its interfaces on the port of an API, and unix sockets. */
async function startHostServices(directory: string): Promise<{ servers: Server[]; socket: string }> {
  const socket = join(directory, 'daemon.sock')
  const servers = ([socket, `\0${ABSTRACT}`, 7420, 80] as const).map((place) =>
    createServer((client) => {
      hostServices.push(`${place}`)
      client.on('error', () => undefined).end('REACHED\n')
    }).listen(place),
  )
  await Promise.all(servers.map((server) => once(server, 'listening')))
  return { servers, socket }
}

async function run(
  sandbox: Sandbox,
  program: string,
  user: string,
  env: Record<string, string> = {},
): Promise<string[]> {
  const result = await sandbox.exec(['python3', `/tmp/egress/${program}`], {
    user,
    env: { ...STRAIGHT, ...env },
    timeoutMs: 170_000,
  })
  if (result.exitCode !== 0) throw new Error(`${program} failed: ${result.stderr}`)
  return result.stdout.trim().split('\n')
}

const outcomesOf = (lines: readonly string[]): Outcome[] => lines.map((line) => JSON.parse(line) as Outcome)

/** A copy uses its own placeholder, and the one of its parent. */
async function tryFork(sandbox: Sandbox, placeholder: string): Promise<StageReport['fork']> {
  const { children } = await sandbox.fork(1)
  const [child] = children
  if (child === undefined) throw new Error('there is no copy')
  try {
    const url = 'https://vault.example/fork?place=body&form=plain'
    const ask = `printf '%s\\n' "$VAULT"; for token in "$VAULT" ${placeholder}; do curl -sS -H "Authorization: Bearer $token" '${url}'; echo; echo ---; done`
    const { stdout } = await child.exec(ask, { timeoutMs: 60_000 })
    const [own = '', ...rest] = stdout.split('\n')
    return { placeholder: own, answers: rest.join('\n').split('---\n') }
  } finally {
    await child.kill()
  }
}

async function main(): Promise<StageReport> {
  const { internet, root } = await startInternet()
  const directory = await mkdtemp(join(tmpdir(), 'hearth-egress-'))
  const { servers, socket } = await startHostServices(directory)
  const asked = new Map<string, number>()
  const hearth = new Hearth({
    spareKeepers: 0,
    secrets: async (name) => findSecret(name),
    recorder: () => ({ add: (entry) => record.push(entry) }),
    gateway: {
      extraRoots: [root],
      resolve: async (name) => {
        resolved.push(name)
        const answers = NAMES[name] ?? [['45.0.0.6']]
        const turn = asked.get(name) ?? 0
        asked.set(name, turn + 1)
        return answers[Math.min(turn, answers.length - 1)] ?? []
      },
    },
  })
  try {
    const secrets = Object.keys(VALUES).map((secret) => ({ secret }))
    await using sandbox = await hearth.create({ rung: rung as Rung, template, policy: POLICY, secrets })
    for (const program of PROGRAMS) {
      await sandbox.files.write(`/tmp/egress/${program}`, await readFile(join(import.meta.dirname, 'inside', program)))
    }
    const environment = await sandbox.exec('env')
    const placeholders = Object.fromEntries(
      environment.stdout.split('\n').flatMap((line) => {
        const [name = '', value = ''] = line.split('=')
        return Object.hasOwn(VALUES, name) ? [[name, value]] : []
      }),
    )
    const bypass = outcomesOf(await run(sandbox, 'bypass.py', 'root', { HOST_SOCKET: socket, HOST_ABSTRACT: ABSTRACT }))
    const theft = outcomesOf(await run(sandbox, 'theft.py', 'user'))
    const found = JSON.parse((await run(sandbox, 'search.py', 'root')).join('')) as Record<string, string>
    const reports = await hearth.rungs()
    const snapshots = reports.some(
      ({ rung: name, probe }) => name === rung && probe.available && probe.capabilities.snapshots,
    )
    const fork = snapshots ? await tryFork(sandbox, placeholders['VAULT'] ?? '') : null
    const { leaks, searched } = await searchFiles(hearth, sandbox, placeholders, snapshots)
    internet.send('report')
    const [report] = (await once(internet, 'message')) as [InternetReport]
    return {
      internet: report,
      hostServices,
      bypass,
      theft,
      found,
      placeholders,
      fork,
      leaks,
      searched,
      resolved,
      record: JSON.stringify(record),
    }
  } finally {
    internet.disconnect()
    for (const server of servers) server.close()
    await hearth.dispose()
    await rm(directory, { recursive: true, force: true })
  }
}

await writeFile(reportFile, JSON.stringify(await main()))
