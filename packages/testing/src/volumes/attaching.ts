import { newVolumeId } from '@hearth/contract'
import { expect } from 'vitest'
import { expectRefusal, output } from '../support/expectations.ts'
import { PLACE, type VolumeSuite } from './volume-suite.ts'

export function describeAttaching(suite: VolumeSuite): void {
  describeFiles(suite)
  describePlaces(suite)
  describeLimits(suite)
}

function describeFiles(suite: VolumeSuite): void {
  const { volumes, create } = suite.options

  suite.test('what was written is there for the next sandbox', {}, async (volume) => {
    {
      await using first = await suite.attach(volume)
      expect(first.info.volumes).toEqual([{ volume, path: PLACE, readOnly: false }])
      expect(await volumes.info(volume)).toMatchObject({ id: volume, attachedTo: first.id, readBy: [] })
      await output(
        first,
        `mkdir -p ${PLACE}/tree/deep && echo one > ${PLACE}/tree/file && ln -s file ${PLACE}/tree/link`,
      )
      await output(first, `echo gone > ${PLACE}/gone && rm ${PLACE}/gone && chmod 750 ${PLACE}/tree`)
      await first.files.write(`${PLACE}/tree/deep/upload`, 'uploaded', { mode: 0o600 })
      expect(await output(first, `cat ${PLACE}/tree/deep/upload`)).toBe('uploaded')
    }
    expect(await volumes.info(volume)).toMatchObject({ attachedTo: null })
    await using second = await suite.attach(volume)
    expect(await output(second, `cat ${PLACE}/tree/file ${PLACE}/tree/link ${PLACE}/tree/deep/upload`)).toBe(
      'one\none\nuploaded',
    )
    expect(await output(second, `readlink ${PLACE}/tree/link; ls ${PLACE}`)).toBe('file\ntree')
    expect(await second.files.stat(`${PLACE}/tree`)).toMatchObject({ mode: 0o750, type: 'directory' })
    expect(await second.files.stat(`${PLACE}/tree/deep/upload`)).toMatchObject({ mode: 0o600, size: 8 })
    await output(second, `echo two >> ${PLACE}/tree/file`)
    expect(await second.files.readText(`${PLACE}/tree/file`)).toBe('one\ntwo\n')
  })

  suite.test('owners are the same in every sandbox', { needs: ['users'] }, async (volume) => {
    const show = `stat -c '%u %g %n' ${PLACE}/*`
    const made = `0 0 ${PLACE}/by-root\n1000 1000 ${PLACE}/by-user\n1234 4321 ${PLACE}/given`
    {
      await using first = await suite.attach(volume, { user: 'root' })
      await output(first, `cd ${PLACE}; touch by-root by-user given; chown 1000:1000 by-user; chown 1234:4321 given`)
      expect(await output(first, show)).toBe(made)
    }
    await using second = await suite.attach(volume)
    expect(await output(second, show)).toBe(made)
    // The usual user may write at the top of a volume that is new, and to what is its own.
    await output(second, `echo mine > ${PLACE}/by-user; echo new > ${PLACE}/new`)
    expect((await second.exec(`echo x > ${PLACE}/by-root`)).exitCode).not.toBe(0)
  })

  suite.test('commands can work in it, and it is no part of the root', {}, async (volume) => {
    {
      await using first = await suite.attach(volume, { workdir: PLACE })
      expect(await output(first, 'pwd; echo here > file')).toBe(PLACE)
    }
    await using without = await create()
    expect(await without.files.exists(`${PLACE}/file`)).toBe(false)
    await using second = await suite.attach(volume, { workdir: `${PLACE}/inner` })
    expect(await output(second, 'pwd; cat ../file')).toBe(`${PLACE}/inner\nhere`)
  })
}

function describePlaces(suite: VolumeSuite): void {
  const { volumes, create, capabilities } = suite.options

  suite.test('several, at deep places that the template does not have', {}, async (volume) => {
    const other = await volumes.create()
    const spec = {
      volumes: [
        { volume, path: '/mnt/deep/er/data' },
        { volume: other.id, path: '/home/user/project' },
      ],
    }
    {
      await using first = await create(spec)
      await output(first, 'echo a > /mnt/deep/er/data/file; echo b > /home/user/project/file')
      const moved = await first.exec('mv /mnt/deep/er/data/file /home/user/project/moved')
      if (capabilities.processes) expect(moved.exitCode).toBe(0)
    }
    await using second = await create(spec)
    expect(await output(second, 'cat /home/user/project/file')).toBe('b')
    expect(await output(second, 'cat /home/user/project/moved')).toBe('a')
  })

  suite.test('what makes no sense is refused, and leaves nothing', {}, async (volume) => {
    const at = (path: string) => create({ volumes: [{ volume, path }] })
    const paths = [
      '/',
      'relative',
      '/a/../b',
      '/a//b',
      '/a/',
      '/a/.',
      '/proc',
      '/proc/self',
      '/dev/shm',
      '/sys',
      '/etc',
    ]
    for (const path of [...paths, '/usr/local', '/.hearth', '/run', '/tmp', '', '/a\0b', `/${'x'.repeat(256)}`])
      await expectRefusal(at(path), 'invalid_request')
    const twice = [
      { volume, path: '/a' },
      { volume, path: '/b' },
    ]
    await expectRefusal(create({ volumes: twice }), 'invalid_request')
    const other = (await volumes.create()).id
    const nested = [
      { volume, path: '/a' },
      { volume: other, path: '/a/b' },
    ]
    await expectRefusal(create({ volumes: nested }), 'invalid_request')
    await expectRefusal(create({ volumes: [{ volume: '../../etc', path: '/a' }] }), 'invalid_request')
    await expectRefusal(create({ volumes: [{ volume: newVolumeId(), path: '/a' }] }), 'volume_not_found')
    const ids = await Promise.all(Array.from({ length: 5 }, async () => (await volumes.create()).id))
    const many = ids.map((id, index) => ({ volume: id, path: `/v${index}` }))
    await expectRefusal(create({ volumes: many }), 'invalid_request')
    const half = [
      { volume, path: '/a' },
      { volume: newVolumeId(), path: '/b' },
    ]
    await expectRefusal(create({ volumes: half }), 'volume_not_found')
    expect(await volumes.info(volume)).toMatchObject({ attachedTo: null, readBy: [] })
  })
}

function describeLimits(suite: VolumeSuite): void {
  const { volumes } = suite.options

  suite.test('its limit is reached', { diskBytes: 16 * 1024 * 1024, timeoutMs: 60_000 }, async (volume) => {
    const info = await volumes.info(volume)
    expect(info?.diskBytes).toBe(16 * 1024 * 1024)
    if (info?.limited !== true) return
    await using sandbox = await suite.attach(volume)
    const megabyte = 'x'.repeat(1024 * 1024)
    const written = Array.from({ length: 40 }, (_, index) => index)
    const flood = async (): Promise<void> => {
      for (const index of written) await sandbox.files.write(`${PLACE}/part-${index}`, megabyte)
    }
    await expectRefusal(flood(), 'disk_full')
    // Its own disk is another matter.
    await sandbox.files.write('/tmp/own', megabyte)
    expect(await output(sandbox, 'wc -c < /tmp/own')).toContain('1048576')
  })
}
