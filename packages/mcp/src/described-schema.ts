import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'

type Convert = StandardSchemaWithJSON['~standard']['jsonSchema']['input']

/** The same schema, whose form in JSON is made once for each draft. */
export function described(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const standard = schema['~standard']
  const { input, output } = standard.jsonSchema
  return { '~standard': { ...standard, jsonSchema: { input: remembered(input), output: remembered(output) } } }
}

function remembered(convert: Convert): Convert {
  const forms = new Map<string, ReturnType<Convert>>()
  return (options) => {
    const known = forms.get(options.target)
    if (known !== undefined) return known
    const form = convert(options)
    forms.set(options.target, form)
    return form
  }
}
