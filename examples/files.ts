// Puts files in, lets a command work on them, and takes the result out.
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using sandbox = await hearth.create()

await sandbox.files.write('/tmp/work/names.txt', 'Grace\nAda\nEdsger\n')
await sandbox.exec('sort names.txt > sorted.txt', { cwd: '/tmp/work' })

console.log(await sandbox.files.readText('/tmp/work/sorted.txt'))
for (const entry of await sandbox.files.list('/tmp/work')) console.log(`${entry.type} ${entry.name} ${entry.size}`)
