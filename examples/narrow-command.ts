// Holds one command, and all that it starts, to less than its sandbox may reach.
import { Hearth, HearthError } from 'hearth'

await using hearth = new Hearth()
await using sandbox = await hearth.create({ policy: { allow: ['registry.npmjs.org', 'api.github.com'] } })

const known = (name: string): string => `getent hosts ${name} >/dev/null && echo "${name}: yes" || echo "${name}: no"`
const look = [known('registry.npmjs.org'), known('api.github.com')].join('\n')

// Nothing is dialed: a name that may not be reached does not exist.
console.log((await sandbox.exec(look)).stdout)
try {
  const { stdout } = await sandbox.exec(look, { policy: { allow: ['registry.npmjs.org'] } })
  console.log(`with a policy of its own:\n${stdout}`)
} catch (error) {
  // Never silently wider: a rung that cannot hold it to that refuses.
  if (!HearthError.isInstance(error) || error.code !== 'capability_unsupported') throw error
  console.log(`refused: ${error.message}`)
}
