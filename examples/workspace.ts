// A durable checkout: changed in one sandbox, seen in the next, committed on the host.
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hearth } from '@hearth/sdk'
import { serve } from '@hearth/server'

const home = await mkdtemp(join(tmpdir(), 'hearth-example-'))
const repository = await mkdtemp(join(tmpdir(), 'hearth-example-'))
const git = (...words: string[]): string => execFileSync('git', ['-C', repository, ...words], { encoding: 'utf8' })
await writeFile(join(repository, 'greeting'), 'hello\n')
git('init', '--quiet', '--initial-branch', 'main')
git('add', '.')
git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '--quiet', '--message', 'A greeting')

const server = await serve({ home, port: 0, logLevel: 'silent' })
try {
  const hearth = new Hearth({ url: server.url, apiKey: (await readFile(join(home, 'key'), 'utf8')).trim() })
  const workspace = await hearth.workspaces.create({ path: repository, branch: 'fix' })

  const first = await hearth.create({ workspace: workspace.id })
  await first.exec('echo "hello, world" > /workspace/greeting')
  await first.kill()

  const second = await hearth.create({ workspace: workspace.id })
  console.log('after the first sandbox:', (await second.exec('cat /workspace/greeting')).stdout.trim())
  await second.kill()

  const { files } = await workspace.diff()
  console.log('changed:', files.map(({ path, added, removed }) => `${path} +${added} -${removed}`).join(', '))
  await workspace.commit({ message: 'Greet the world' })
  await workspace.push()
  console.log('pushed:', git('log', '-1', '--format=%s', 'fix').trim())
  await workspace.remove()
} finally {
  await server.stop({ graceMs: 1000 })
  await rm(home, { recursive: true, force: true })
  await rm(repository, { recursive: true, force: true })
}
