/** The JSON values of a stream of server-sent events, as they come. */
export async function* readEvents<Event = Record<string, unknown>>(answer: Response): AsyncGenerator<Event, void> {
  if (answer.body === null) throw new Error('no body')
  let held = ''
  const decoder = new TextDecoder()
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    held += decoder.decode(chunk, { stream: true })
    const blocks = held.split('\n\n')
    held = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '))
      if (data !== undefined) yield JSON.parse(data.slice(6)) as Event
    }
  }
}

export async function allEvents<Event = Record<string, unknown>>(answer: Response): Promise<Event[]> {
  const events: Event[] = []
  for await (const event of readEvents<Event>(answer)) events.push(event)
  return events
}

/** The text of all output events together. */
export function outputText(events: readonly Record<string, unknown>[]): string {
  return events
    .filter((event) => event['type'] === 'output')
    .map((event) => Buffer.from(String(event['data']), 'base64').toString('utf8'))
    .join('')
}
