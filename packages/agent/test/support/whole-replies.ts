import type { Say } from './model-program.ts'
import type { PROTOCOLS } from './protocols.ts'

type Part = Record<string, unknown>

/** The same replies for who does not ask for a stream. */
export const WHOLE_REPLIES: Readonly<Record<keyof typeof PROTOCOLS, (say: Say, serial: number) => Part>> = {
  anthropic: ({ text, calls = [], inputTokens = 10, outputTokens = 5, cutOff }, serial) => ({
    id: `msg_${serial}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-test',
    content: [
      ...(text === undefined ? [] : [{ type: 'text', text, citations: null }]),
      ...calls.map(({ tool, input = {} }, position) => ({
        type: 'tool_use',
        id: `toolu_${serial}_${position}`,
        name: tool,
        input,
      })),
    ],
    stop_reason: cutOff === true ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: inputTokens, output_tokens: outputTokens },
  }),
  responses: ({ text, calls = [], inputTokens = 10, outputTokens = 5, cutOff }, serial) => ({
    id: `resp_${serial}`,
    object: 'response',
    created_at: 1,
    model: 'gpt-test',
    status: cutOff === true ? 'incomplete' : 'completed',
    incomplete_details: cutOff === true ? { reason: 'max_output_tokens' } : null,
    output: [
      ...(text === undefined ? [] : [messageItem(`msg_${serial}`, text)]),
      ...calls.map((call, position) => ({
        type: 'function_call',
        id: `fc_${serial}_${position}`,
        call_id: `call_${serial}_${position}`,
        name: call.tool,
        arguments: call.raw ?? JSON.stringify(call.input ?? {}),
        status: 'completed',
      })),
    ],
    usage: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
  }),
  chat: ({ text = null, calls = [], inputTokens = 10, outputTokens = 5, cutOff }, serial) => {
    const tool_calls = calls.map((call, position) => ({
      id: `call_${serial}_${position}`,
      type: 'function',
      function: { name: call.tool, arguments: call.raw ?? JSON.stringify(call.input ?? {}) },
    }))
    const message = { role: 'assistant', content: text, refusal: null, ...(calls.length > 0 ? { tool_calls } : {}) }
    const finish_reason = cutOff === true ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop'
    return {
      id: `chat_${serial}`,
      object: 'chat.completion',
      created: 1,
      model: 'test',
      choices: [{ index: 0, message, finish_reason, logprobs: null }],
      usage: {
        prompt_tokens: inputTokens,
        completion_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
      },
    }
  },
}

function messageItem(id: string, text: string): Part {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id, role: 'assistant', status: 'completed', content }
}
