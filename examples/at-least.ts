// Demands a strength of isolation. A weaker rung is never used in its place: the call fails and says why.
import { Hearth, HearthError } from 'hearth'

await using hearth = new Hearth()

for (const { rung, driver, probe } of await hearth.rungs()) {
  console.log(`${rung} (${driver}): ${probe.available ? 'works' : probe.reason}`)
}

try {
  await using sandbox = await hearth.create({ atLeast: 'container' })
  const { stdout } = await sandbox.exec('id -un')
  console.log(`got ${sandbox.info.rung}, and inside I am ${stdout.trim()}`)
} catch (error) {
  if (!HearthError.isInstance(error) || error.code !== 'rung_unavailable') throw error
  console.log(`refused: ${error.message}`)
}
