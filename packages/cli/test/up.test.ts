import type { ChildProcess } from 'node:child_process'
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { HearthCommand, said } from './hearth-command.ts'

let hearth: HearthCommand
beforeAll(async () => void (hearth = await HearthCommand.create()))
afterAll(async () => await hearth[Symbol.asyncDispose]())

async function startServer(...options: string[]): Promise<{
  child: ChildProcess
  finished: Promise<{ code: number | null; stderr: string }>
  url: string
}> {
  const { child, finished } = hearth.start(['up', '--port', '0', ...options])
  let log = ''
  child.stdout?.on('data', (data: Buffer) => (log += data.toString()))
  await said(child, 'server.listening')
  const url = /"url":"([^"]+)"/.exec(log)?.[1] ?? ''
  return { child, finished, url }
}

it('serves the API with the key it made, and what runs outlives it', async () => {
  const first = await startServer()
  const path = join(hearth.home, 'key')
  const key = (await readFile(path, 'utf8')).trim()
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const call = async (url: string, method: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    return answer.status === 204 ? {} : ((await answer.json()) as Record<string, unknown>)
  }
  // The command line finds the server and its key by the home alone.
  expect((await hearth.run(['ls', '--json'])).stdout).toBe('[]\n')
  const { id } = await call(`${first.url}/v1/sandboxes`, 'POST', { rung: 'process' })
  await call(`${first.url}/v1/sandboxes/${String(id)}/exec`, 'POST', { command: 'echo kept > /tmp/note' })
  // As from a supervisor and from a parent.
  first.child.kill('SIGTERM')
  first.child.kill('SIGTERM')
  const ended = await first.finished
  expect(ended.code).toBe(0)
  // Shown once, at the first start.
  expect(ended.stderr).toContain(key)
  expect(await readdir(hearth.home)).not.toContain('server.json')

  const second = await startServer()
  const result = await call(`${second.url}/v1/sandboxes/${String(id)}/exec`, 'POST', { command: 'cat /tmp/note' })
  expect(result).toMatchObject({ exitCode: 0, stdout: 'kept\n' })
  await call(`${second.url}/v1/sandboxes/${String(id)}`, 'DELETE')
  second.child.kill('SIGINT')
  const again = await second.finished
  expect(again.code).toBe(0)
  expect(again.stderr).not.toContain(key)

  const third = await startServer('--new-key')
  third.child.kill('SIGINT')
  const said = (await third.finished).stderr
  const another = (await readFile(path, 'utf8')).trim()
  expect(another).not.toBe(key)
  expect(said).toContain(another)
  expect(said).toContain('the others still work')
})

it('says nothing with -q, and tells a failure as JSON with --json', async () => {
  const { child, finished } = hearth.start(['up', '--port', '0', '-q'])
  await expect.poll(() => readdir(hearth.home), { timeout: 30_000 }).toContain('server.json')
  const second = await hearth.run(['up', '--port', '0', '--json'])
  expect(second).toMatchObject({ code: 1 })
  expect(JSON.parse(second.stderr)).toMatchObject({
    error: { message: expect.stringContaining('another server') as unknown },
  })
  child.kill('SIGTERM')
  expect(await finished).toMatchObject({ code: 0, stderr: '' })
})

it.each([['--port', 'x'], ['--port', '65536'], ['--nothing'], ['--host', '0.0.0.0', '--port', 'y']])(
  'refuses %s',
  async (...args) => {
    expect(await hearth.run(['up', ...args])).toMatchObject({ code: 2, stdout: '' })
  },
)
