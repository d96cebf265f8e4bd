import { createInterface } from 'node:readline'
import { firstOutput } from './first-output.ts'

/** Takes argument vectors as lines of JSON and answers each with the milliseconds to its first output. See own-mounts.ts. */
for await (const line of createInterface(process.stdin)) {
  const answer = await firstOutput(JSON.parse(line) as string[]).then(
    (milliseconds) => ({ milliseconds }),
    (error: unknown) => ({ problem: (error as Error).message }),
  )
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
