import { expect } from 'vitest'
import type { Sandbox, WatchEvent } from '@hearth/contract'
import { eventually, expectRefusal, output, scratch } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

type Watch = AsyncIterable<WatchEvent> & AsyncDisposable

/** Gathers events beside the test. */
function gather(watch: Watch): { readonly events: WatchEvent[]; readonly ended: Promise<void> } {
  const events: WatchEvent[] = []
  const ended = (async () => {
    for await (const event of watch) events.push(event)
  })()
  return { events, ended }
}

async function watched(sandbox: Sandbox, recursive: boolean): Promise<{ root: string; watch: Watch }> {
  const root = scratch('watched')
  await sandbox.files.makeDirectory(root)
  return { root, watch: await sandbox.watch(root, { recursive }) }
}

export function describeWatch(suite: Suite): void {
  suite.test('a file that is created, changed, renamed and removed', {}, async (sandbox) => {
    const { root, watch } = await watched(sandbox, false)
    const { events, ended } = gather(watch)
    const has = (kind: WatchEvent['kind'], path: string): boolean =>
      events.some((event) => event.kind === kind && event.path === path)
    await output(sandbox, `echo one > ${root}/file`)
    await eventually('created', () => has('created', `${root}/file`))
    await output(sandbox, `echo two >> ${root}/file`)
    await eventually('changed', () => has('changed', `${root}/file`))
    await output(sandbox, `chmod 600 ${root}/file`)
    await eventually('attributes', () => has('attributes', `${root}/file`))
    await output(sandbox, `mv ${root}/file ${root}/other`)
    await eventually('renamed', () =>
      events.some(
        (event) => event.kind === 'renamed' && event.path === `${root}/other` && event.from === `${root}/file`,
      ),
    )
    await output(sandbox, `rm ${root}/other`)
    await eventually('removed', () => has('removed', `${root}/other`))
    await watch[Symbol.asyncDispose]()
    await ended
  })

  suite.test('file calls from outside are seen too', {}, async (sandbox) => {
    const { root, watch } = await watched(sandbox, false)
    const { events, ended } = gather(watch)
    await sandbox.files.write(`${root}/file`, 'x')
    await eventually('an event', () => events.some((event) => event.path === `${root}/file`))
    await watch[Symbol.asyncDispose]()
    await ended
  })

  suite.test('directories below, also new ones', {}, async (sandbox) => {
    const { root, watch } = await watched(sandbox, true)
    const { events, ended } = gather(watch)
    await output(sandbox, `mkdir -p ${root}/a/b/c && echo x > ${root}/a/b/c/file`)
    await eventually('the deep file', () => events.some((event) => event.path === `${root}/a/b/c/file`))
    await output(sandbox, `echo more >> ${root}/a/b/c/file`)
    await eventually('its change', () =>
      events.some((event) => event.kind === 'changed' && event.path === `${root}/a/b/c/file`),
    )
    await output(sandbox, `mv ${root}/a ${root}/moved && echo x > ${root}/moved/b/new`)
    await eventually('below the moved directory', () => events.some((event) => event.path === `${root}/moved/b/new`))
    await watch[Symbol.asyncDispose]()
    await ended
  })

  suite.test('a watch that is not recursive does not look below', {}, async (sandbox) => {
    const { root, watch } = await watched(sandbox, false)
    const { events, ended } = gather(watch)
    await output(sandbox, `mkdir ${root}/sub && echo x > ${root}/sub/deep && echo x > ${root}/last`)
    await eventually('the last', () => events.some((event) => event.path === `${root}/last`))
    expect(events.map((event) => event.path)).not.toContain(`${root}/sub/deep`)
    await watch[Symbol.asyncDispose]()
    await ended
  })

  suite.test(
    'many changes at once are told, or their loss is',
    { needs: ['processes'], timeoutMs: 60_000 },
    async (sandbox) => {
      const { root, watch } = await watched(sandbox, true)
      const { events, ended } = gather(watch)
      const program = `import os\nfor i in range(600):\n  open("${root}/f%d" % i, "w").close()\nopen("${root}/end", "w").close()`
      await output(sandbox, ['python3', '-c', program])
      const created = (): number =>
        new Set(events.filter((event) => event.kind === 'created').map((event) => event.path)).size
      await eventually(
        'all or overflow',
        () => created() === 601 || events.some((event) => event.kind === 'overflow'),
        20_000,
      )
      await watch[Symbol.asyncDispose]()
      await ended
    },
  )

  suite.test('an abort ends the watch', {}, async (sandbox) => {
    const root = scratch('aborted')
    await sandbox.files.makeDirectory(root)
    const controller = new AbortController()
    const watch = await sandbox.watch(root, { signal: controller.signal })
    const { ended } = gather(watch)
    controller.abort()
    await ended.catch(() => undefined)
  })

  suite.test('a directory that is not there', {}, async (sandbox) => {
    await expectRefusal(sandbox.watch('/no/such/directory'), 'file_not_found', 'watch_failed')
  })
}
