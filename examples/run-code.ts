// Runs code that a model wrote. Variables live on between calls in one sandbox.
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using sandbox = await hearth.create()

await sandbox.runCode('numbers = [3, 1, 2]')
const result = await sandbox.runCode('sorted(numbers)')
console.log(`sorted: ${result.text}`)

const mistake = await sandbox.runCode('1 / 0')
console.log(`a mistake is data: ${mistake.error?.name}`)

const shell = await sandbox.exec(['sh', '-c', 'echo "on $(uname -s)"; exit 3'])
console.log(`${shell.stdout.trim()}, exit code ${shell.exitCode}`)
