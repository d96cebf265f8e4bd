import { expect } from 'vitest'
import { output } from '../support/expectations.ts'
import { COMMON_FILES, RARE_FILES } from './file-programs.ts'
import { PLACE, type VolumeSuite } from './volume-suite.ts'

const MiB = 1024 * 1024
const LARGE_MIB = 24
const WRITERS = 50
const LINES = 10
/** Says each number when it is written, and never ends by itself. */
const WRITER = `i=0; while :; do i=$((i+1)); echo $i >> ${PLACE}/written && echo $i; done`

/** What programs do with files, as on any disk. */
export function describePrograms(suite: VolumeSuite): void {
  describeKinds(suite)
  describeWriters(suite)
}

function describeKinds(suite: VolumeSuite): void {
  const programs = { needs: ['processes', 'users'], timeoutMs: 120_000 } as const
  const spec = { template: suite.options.pythonTemplate, user: 'root', env: { PLACE } }

  suite.test(
    'files without a name, links, directories that are moved, and what lies in memory',
    programs,
    async (volume) => {
      await using sandbox = await suite.attach(volume, spec)
      expect(await output(sandbox, ['python3', '-c', COMMON_FILES])).toBe('good')
    },
  )

  suite.test('sockets, holes, extended attributes and names that change places', programs, async (volume) => {
    await using sandbox = await suite.attach(volume, spec)
    expect(await output(sandbox, ['python3', '-c', RARE_FILES])).toBe('good')
  })

  suite.test('git', programs, async (volume) => {
    const person = '-c user.name=A -c user.email=a@example.com'
    {
      await using first = await suite.attach(volume, { ...spec, workdir: PLACE })
      await output(first, `git init --quiet . && i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i > f$i; done`)
      await output(first, `git add . && git ${person} commit --quiet -m one && echo x >> f7 && rm f9 && echo n > new`)
      expect(await output(first, 'git status --porcelain')).toBe(' M f7\n D f9\n?? new')
    }
    await using second = await suite.attach(volume, { ...spec, workdir: PLACE })
    await output(second, `git add --all && git ${person} commit --quiet -m two && git gc --quiet`)
    expect(await output(second, 'git status --porcelain; git log --format=%s; git fsck --strict')).toBe('two\none')
  })
}

function describeWriters(suite: VolumeSuite): void {
  suite.test('a large file', { needs: ['processes'], timeoutMs: 120_000 }, async (volume) => {
    const sum = `sha256sum < ${PLACE}/large`
    let expected: string
    {
      await using first = await suite.attach(volume)
      await output(first, `dd if=/dev/urandom of=${PLACE}/large bs=1M count=${LARGE_MIB} 2>/dev/null`)
      expected = await output(first, sum)
      expect((await first.files.stat(`${PLACE}/large`)).size).toBe(LARGE_MIB * MiB)
    }
    await using second = await suite.attach(volume)
    expect(await output(second, sum)).toBe(expected)
  })

  suite.test('many that write at once lose nothing', { needs: ['processes'], timeoutMs: 120_000 }, async (volume) => {
    await using sandbox = await suite.attach(volume)
    const lines = `for n in $(seq ${LINES}); do echo $w-$n >> ${PLACE}/log; echo $w > ${PLACE}/own-$w; done`
    await output(sandbox, `for w in $(seq ${WRITERS}); do (${lines}) & done; wait`)
    expect(await output(sandbox, `sort -u ${PLACE}/log | wc -l; cat ${PLACE}/own-* | wc -l`)).toBe(
      `${WRITERS * LINES}\n${WRITERS}`,
    )
  })

  suite.test(
    'what was written is there when its sandbox is killed',
    { needs: ['processes'], timeoutMs: 60_000 },
    async (volume) => {
      let told = ''
      {
        await using writer = await suite.attach(volume)
        const process = await writer.spawn(WRITER)
        const reading = (async () => {
          for await (const part of process.output) told += Buffer.from(part.data).toString()
        })().catch(() => undefined)
        await expect.poll(() => told.split('\n').length, { timeout: 30_000 }).toBeGreaterThan(50)
        await writer.kill()
        await reading
      }
      const last = told.trimEnd().split('\n').length
      await using next = await suite.attach(volume)
      const written = (await output(next, `cat ${PLACE}/written`)).split('\n').map(Number)
      expect(written.slice(0, last)).toEqual(Array.from({ length: last }, (_, index) => index + 1))
    },
  )
}
