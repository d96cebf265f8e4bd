import type { Table } from './table.ts'

const begin = '<!-- messages: generated from messages.json -->'
const end = '<!-- end of messages -->'

/** Puts the table of messages between the two markers of protocol.md. */
export function protocolTable(table: Table, text: string): string {
  const start = text.indexOf(begin)
  const stop = text.indexOf(end)
  if (start === -1 || stop === -1) throw new Error('protocol.md has lost its markers')
  const rows = table.messages.map((message) => {
    const fields = message.fields.map(([name, type]) => `${name} ${type}`).join(', ')
    return `| ${message.type} | ${message.name} | ${message.from} | ${fields} | ${message.doc} |`
  })
  const lines = [
    begin,
    '',
    `Version ${table.version}.`,
    '',
    '| type | name | from | payload | meaning |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    end,
  ]
  return text.slice(0, start) + lines.join('\n') + text.slice(stop + end.length)
}
