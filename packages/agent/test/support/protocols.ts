import type { Say, View } from './model-program.ts'

/** One event of a stream: its name, where the protocol has names, and its data. */
export interface StreamEvent {
  readonly event?: string
  readonly data: unknown
}

export interface Protocol {
  readonly path: string
  view(body: Body, request: number): View
  stream(say: Say, serial: number): StreamEvent[]
  /** The body of an answer that is an error. */
  failure(status: number, message: string): unknown
}

export type Body = Record<string, unknown>
type Part = Record<string, unknown>

/** Content is a string or a list of parts with a text. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as Part[]).map((part) => (typeof part['text'] === 'string' ? part['text'] : '')).join('')
}

function list(value: unknown): Part[] {
  return Array.isArray(value) ? (value as Part[]) : []
}

function viewOf(body: Body, request: number, found: Pick<View, 'system' | 'users' | 'observations' | 'calls'>): View {
  return { ...found, request, last: found.observations.at(-1) ?? '', characters: JSON.stringify(body).length }
}

/** Cut into pieces, so that a client must put them together. */
function pieces(text: string): string[] {
  const size = Math.max(1, Math.ceil(text.length / 3))
  return text === ''
    ? ['']
    : Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size))
}

function argumentsOf(call: NonNullable<Say['calls']>[number]): string {
  return call.raw ?? JSON.stringify(call.input ?? {})
}

const anthropic: Protocol = {
  path: '/v1/messages',
  view(body, request) {
    const parts = list(body['messages']).flatMap((message) =>
      typeof message['content'] === 'string'
        ? [{ role: message['role'], type: 'text', text: message['content'] }]
        : list(message['content']).map((part) => ({ role: message['role'], ...part }) as Part),
    )
    return viewOf(body, request, {
      system: textOf(body['system']),
      users: parts
        .filter((part) => part['role'] === 'user' && part['type'] === 'text')
        .map((part) => String(part['text'])),
      observations: parts.filter((part) => part['type'] === 'tool_result').map((part) => textOf(part['content'])),
      calls: parts.filter((part) => part['type'] === 'tool_use').length,
    })
  },
  stream(say, serial) {
    const usage = { input_tokens: say.inputTokens ?? 10, output_tokens: 1 }
    const message = {
      id: `msg_${serial}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-test',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    }
    const named = (data: { type: string } & Part): StreamEvent => ({ event: data.type, data })
    const events = [named({ type: 'message_start', message }), named({ type: 'ping' })]
    let index = 0
    const block = (content_block: Part, deltas: Part[]): void => {
      events.push(named({ type: 'content_block_start', index, content_block }))
      for (const delta of deltas) events.push(named({ type: 'content_block_delta', index, delta }))
      events.push(named({ type: 'content_block_stop', index: index++ }))
    }
    if (say.thinking !== undefined)
      block({ type: 'thinking', thinking: '', signature: '' }, [
        { type: 'thinking_delta', thinking: say.thinking },
        { type: 'signature_delta', signature: 'signed' },
      ])
    if (say.text !== undefined)
      block(
        { type: 'text', text: '' },
        pieces(say.text).map((text) => ({ type: 'text_delta', text })),
      )
    for (const [position, call] of (say.calls ?? []).entries()) {
      block(
        { type: 'tool_use', id: `toolu_${serial}_${position}`, name: call.tool, input: {} },
        pieces(argumentsOf(call)).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      )
    }
    const stop_reason = say.cutOff === true ? 'max_tokens' : (say.calls ?? []).length > 0 ? 'tool_use' : 'end_turn'
    events.push(
      named({
        type: 'message_delta',
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: say.outputTokens ?? 5 },
      }),
    )
    events.push(named({ type: 'message_stop' }))
    return events
  },
  failure: (status, message) => ({
    type: 'error',
    error: { type: status === 429 ? 'rate_limit_error' : 'invalid_request_error', message },
  }),
}

const responses: Protocol = {
  path: '/v1/responses',
  view(body, request) {
    const items = list(body['input'])
    const system = items.filter((item) => item['role'] === 'system' || item['role'] === 'developer')
    return viewOf(body, request, {
      system: [textOf(body['instructions']), ...system.map((item) => textOf(item['content']))].join(''),
      users: items.filter((item) => item['role'] === 'user').map((item) => textOf(item['content'])),
      observations: items
        .filter((item) => item['type'] === 'function_call_output')
        .map((item) => textOf(item['output'])),
      calls: items.filter((item) => item['type'] === 'function_call').length,
    })
  },
  stream(say, serial) {
    let sequence_number = 0
    const named = (type: string, data: Part): StreamEvent => ({
      event: type,
      data: { type, sequence_number: sequence_number++, ...data },
    })
    const response = {
      id: `resp_${serial}`,
      object: 'response',
      created_at: 1,
      model: 'gpt-test',
      status: 'in_progress',
      output: [],
    }
    const events = [named('response.created', { response })]
    let output_index = 0
    if (say.text !== undefined) {
      const id = `msg_${serial}`
      const part = { type: 'output_text', text: '', annotations: [] }
      events.push(
        named('response.output_item.added', {
          output_index,
          item: { type: 'message', id, role: 'assistant', status: 'in_progress', content: [] },
        }),
      )
      events.push(named('response.content_part.added', { item_id: id, output_index, content_index: 0, part }))
      for (const delta of pieces(say.text))
        events.push(named('response.output_text.delta', { item_id: id, output_index, content_index: 0, delta }))
      const content = [{ ...part, text: say.text }]
      events.push(
        named('response.output_item.done', {
          output_index: output_index++,
          item: { type: 'message', id, role: 'assistant', status: 'completed', content },
        }),
      )
    }
    for (const [position, call] of (say.calls ?? []).entries()) {
      const id = `fc_${serial}_${position}`
      const item = { type: 'function_call', id, call_id: `call_${serial}_${position}`, name: call.tool }
      events.push(
        named('response.output_item.added', { output_index, item: { ...item, arguments: '', status: 'in_progress' } }),
      )
      for (const delta of pieces(argumentsOf(call)))
        events.push(named('response.function_call_arguments.delta', { item_id: id, output_index, delta }))
      events.push(
        named('response.function_call_arguments.done', { item_id: id, output_index, arguments: argumentsOf(call) }),
      )
      events.push(
        named('response.output_item.done', {
          output_index: output_index++,
          item: { ...item, arguments: argumentsOf(call), status: 'completed' },
        }),
      )
    }
    const usage = {
      input_tokens: say.inputTokens ?? 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: say.outputTokens ?? 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: (say.inputTokens ?? 10) + (say.outputTokens ?? 5),
    }
    const type = say.cutOff === true ? 'response.incomplete' : 'response.completed'
    const incomplete_details = say.cutOff === true ? { reason: 'max_output_tokens' } : null
    events.push(named(type, { response: { ...response, status: 'completed', incomplete_details, usage } }))
    return events
  },
  failure: (status, message) => ({
    error: { message, type: status === 429 ? 'rate_limit_exceeded' : 'invalid_request_error', param: null, code: null },
  }),
}

const chat: Protocol = {
  path: '/v1/chat/completions',
  view(body, request) {
    const messages = list(body['messages'])
    const of = (role: string): Part[] => messages.filter((message) => message['role'] === role)
    return viewOf(body, request, {
      system: of('system')
        .map((message) => textOf(message['content']))
        .join(''),
      users: of('user').map((message) => textOf(message['content'])),
      observations: of('tool').map((message) => textOf(message['content'])),
      calls: of('assistant').flatMap((message) => list(message['tool_calls'])).length,
    })
  },
  stream(say, serial) {
    const chunk = (delta: Part, finish_reason: string | null = null): StreamEvent => ({
      data: {
        id: `chat_${serial}`,
        object: 'chat.completion.chunk',
        created: 1,
        model: 'test',
        choices: [{ index: 0, delta, finish_reason }],
      },
    })
    const events = [chunk({ role: 'assistant', content: '' })]
    for (const text of pieces(say.text ?? '')) events.push(chunk({ content: text }))
    for (const [index, call] of (say.calls ?? []).entries()) {
      const [first = '', ...rest] = pieces(argumentsOf(call))
      events.push(
        chunk({
          tool_calls: [
            { index, id: `call_${serial}_${index}`, type: 'function', function: { name: call.tool, arguments: first } },
          ],
        }),
      )
      for (const more of rest) events.push(chunk({ tool_calls: [{ index, function: { arguments: more } }] }))
    }
    events.push(chunk({}, say.cutOff === true ? 'length' : (say.calls ?? []).length > 0 ? 'tool_calls' : 'stop'))
    const [prompt_tokens, completion_tokens] = [say.inputTokens ?? 10, say.outputTokens ?? 5]
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
    events.push({
      data: { id: `chat_${serial}`, object: 'chat.completion.chunk', created: 1, model: 'test', choices: [], usage },
    })
    events.push({ data: '[DONE]' })
    return events
  },
  failure: (_status, message) => ({ error: { message, type: 'error', param: null, code: null } }),
}

export const PROTOCOLS = { anthropic, responses, chat } as const
