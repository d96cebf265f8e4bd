import { expect } from 'vitest'
import { expectRefusal, output } from '../support/expectations.ts'
import { PLACE, type VolumeSuite } from './volume-suite.ts'

export function describeSharing(suite: VolumeSuite): void {
  const { volumes } = suite.options

  suite.test('one sandbox writes, and the next one when it is gone', {}, async (volume) => {
    const first = await suite.attach(volume)
    const refusal = await expectRefusal(suite.attach(volume), 'volume_in_use')
    expect(refusal.message).toContain(first.id)
    expect(refusal.context).toMatchObject({ volume, holder: first.id })
    // All at once, when it is free: one of them has it.
    await first.kill()
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => suite.attach(volume)))
    const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    try {
      expect(made.length).toBe(1)
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'volume_in_use' })
      expect(await volumes.info(volume)).toMatchObject({ attachedTo: made[0]?.id })
    } finally {
      for (const sandbox of made) await sandbox.kill()
    }
  })

  suite.test('many read it, none of them changes anything', {}, async (volume) => {
    await using writer = await suite.attach(volume)
    await output(writer, `echo first > ${PLACE}/file`)
    await using one = await suite.attach(volume, { readOnly: true })
    await using other = await suite.attach(volume, { readOnly: true })
    expect(one.info.volumes).toEqual([{ volume, path: PLACE, readOnly: true }])
    expect(new Set((await volumes.info(volume))?.readBy)).toEqual(new Set([one.id, other.id]))
    for (const reader of [one, other]) {
      expect(await output(reader, `cat ${PLACE}/file`)).toBe('first')
      for (const attempt of [
        `echo x > ${PLACE}/new`,
        `echo x >> ${PLACE}/file`,
        `rm ${PLACE}/file`,
        `mkdir ${PLACE}/d`,
      ])
        expect((await reader.exec(attempt)).exitCode).not.toBe(0)
      await expectRefusal(reader.files.write(`${PLACE}/new`, 'x'), 'permission_denied', 'file_failed')
    }
    // They see what the writer does.
    await output(writer, `echo second >> ${PLACE}/file; echo new > ${PLACE}/new`)
    expect(await output(one, `cat ${PLACE}/file ${PLACE}/new`)).toBe('first\nsecond\nnew')
    await writer.kill()
    expect(await output(other, `cat ${PLACE}/new`)).toBe('new')
  })

  suite.test('it is removed when nobody has it', {}, async (volume) => {
    const writer = await suite.attach(volume)
    await expectRefusal(volumes.remove(volume), 'volume_in_use')
    const reader = await suite.attach(volume, { readOnly: true })
    await writer.kill()
    await expectRefusal(volumes.remove(volume), 'volume_in_use')
    expect(await output(reader, `ls ${PLACE}`)).toBe('')
    await reader.kill()
    await volumes.remove(volume)
    expect(await volumes.info(volume)).toBeNull()
    await expectRefusal(volumes.remove(volume), 'volume_not_found')
    await expectRefusal(suite.attach(volume), 'volume_not_found')
  })

  suite.test('a clone has what was there, and nothing of what comes later', {}, async (volume) => {
    await using first = await suite.attach(volume)
    await output(
      first,
      `mkdir ${PLACE}/d; echo same > ${PLACE}/d/same; echo before > ${PLACE}/file; echo x > ${PLACE}/old`,
    )
    const clone = await volumes.clone(volume)
    expect(clone).toMatchObject({ parent: volume, attachedTo: null })
    await output(first, `echo after >> ${PLACE}/file; rm ${PLACE}/old`)
    await using second = await suite.attach(clone.id)
    expect(await output(second, `cat ${PLACE}/file ${PLACE}/old`)).toBe('before\nx')
    await output(second, `echo own > ${PLACE}/own`)
    expect(await output(first, `cat ${PLACE}/file; ls ${PLACE}`)).toBe('before\nafter\nd\nfile')
    const changes = (await volumes.changes(volume, clone.id)).map(({ path, change }) => `${path} ${change}`)
    expect(changes).toEqual(['/file changed', '/old removed', '/own removed'])
  })
}
