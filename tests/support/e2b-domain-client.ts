import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'

/** A program of somebody who has a domain for E2B and nothing else: here its names lead to loopback, as a name server would have it. */
const { lookup } = dns
const below = (name: string): boolean => name.endsWith('.e2b.test')

type Found = (error: null, address: string | { address: string; family: number }[], family?: number) => void

function lookUp(name: string, given: unknown, callback?: Found): void {
  const options = typeof given === 'function' ? {} : ((given ?? {}) as { all?: boolean })
  const found = (typeof given === 'function' ? given : callback) as Found
  if (!below(name)) return lookup(name, options, found as never)
  process.nextTick(() =>
    options.all === true ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4),
  )
}
Object.assign(dns, { lookup: lookUp })
syncBuiltinESMExports()

const { Sandbox } = await import('@e2b/code-interpreter')
const sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': 'process' } })
await sandbox.files.write('given.txt', 'a file')
const server = await sandbox.commands.run('python3 -m http.server 8000', { background: true, timeoutMs: 0 })
const page = async (): Promise<string> => {
  const answer = await fetch(`https://${sandbox.getHost(8000)}/given.txt`)
  return answer.ok ? await answer.text() : ''
}
let served = ''
for (let attempt = 0; served === '' && attempt < 50; attempt++) {
  await new Promise((resolve) => setTimeout(resolve, 100))
  served = await page()
}
const said = {
  host: sandbox.getHost(8000).replace(sandbox.sandboxId, 'ID'),
  command: (await sandbox.commands.run('echo there')).stdout,
  code: (await sandbox.runCode('6 * 7')).text,
  read: await sandbox.files.read('given.txt'),
  signed: await (await fetch(await sandbox.downloadUrl('given.txt'))).text(),
  served,
  running: await sandbox.isRunning(),
}
await server.kill()
await sandbox.kill()
process.stdout.write(JSON.stringify(said))
