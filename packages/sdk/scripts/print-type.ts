import { type Checker, SymbolFlags, type Symbol as TypeSymbol, type Type, TypeFlags } from 'typescript/unstable/sync'

/** Deeper than any type of the contract. A type that contains itself must have a name. */
const DEEPEST = 24

export interface PrintOptions {
  readonly checker: Checker
  /** The name by which a type is written, if it has one of those that are declared anyway. */
  nameOf(type: Type): string | null
}

/** A type written out to its last part, as the compiler sees it, with what is said of its properties. */
export function printType(type: Type, options: PrintOptions, indent = ''): string {
  if (indent.length > 2 * DEEPEST)
    throw new Error(`a type without a name contains itself: ${options.checker.typeToString(type)}`)
  const name = options.nameOf(type)
  if (name !== null) return name
  // Both of its values; the union is in no order that a reader would expect.
  if ((type.flags & TypeFlags.Boolean) !== 0) return 'boolean'
  if (type.isUnionType()) return unionOf(type.getTypes(), options, indent)
  if (type.isIntersectionType()) {
    const parts = type.getTypes().map((part) => printType(part, options, indent))
    return parts.map(bracketed).join(' & ')
  }
  if (type.isObjectType()) return printObject(type, options, indent)
  return options.checker.typeToString(type)
}

function unionOf(types: readonly Type[], options: PrintOptions, indent: string): string {
  const texts = types.map((type) => bracketed(printType(type, options, indent)))
  const both = texts.includes('true') && texts.includes('false')
  const parts = both ? [...texts.filter((text) => text !== 'true' && text !== 'false'), 'boolean'] : texts
  // What may be missing comes last, as one writes it.
  const last = ['null', 'undefined'].filter((text) => parts.includes(text))
  return [...new Set([...parts.filter((text) => !last.includes(text)), ...last])].join(' | ')
}

const bracketed = (text: string): string => (/^\(.*=>/.test(text) ? `(${text})` : text)

function printObject(type: Type, options: PrintOptions, indent: string): string {
  const { checker } = options
  if (checker.isTupleType(type)) {
    const parts = elementsOf(type, checker).map((part) => printType(part, options, indent))
    return `[${parts.join(', ')}]`
  }
  if (checker.isArrayType(type)) {
    const [element] = elementsOf(type, checker)
    const text = element === undefined ? 'unknown' : printType(element, options, indent)
    const array = /[ |&]/.test(text) && !/^\{[^]*\}$/.test(text) ? `(${text})[]` : `${text}[]`
    return type.getSymbol()?.name === 'ReadonlyArray' ? `readonly ${array}` : array
  }
  // Those of the language, such as `Date`, have a name that everybody knows.
  if (type.isClassOrInterface() || (type.isTypeReference() && type.getTarget().isClassOrInterface())) {
    return checker.typeToString(type)
  }
  const properties = checker.getPropertiesOfType(type)
  const indexes = checker.getIndexInfosOfType(type)
  if (properties.length === 0 && indexes.length === 0) return '{}'
  const inner = `${indent}  `
  const lines = [
    ...indexes.map(({ keyType, valueType, isReadonly }) => {
      const key = `[key: ${checker.typeToString(keyType)}]`
      return `${inner}${isReadonly ? 'readonly ' : ''}${key}: ${printType(valueType, options, inner)}`
    }),
    ...properties.map((property) => printProperty(property, options, inner)),
  ]
  return `{\n${lines.join('\n')}\n${indent}}`
}

function elementsOf(type: Type, checker: Checker): readonly Type[] {
  return type.isTypeReference() ? checker.getTypeArguments(type) : []
}

function printProperty(property: TypeSymbol, options: PrintOptions, indent: string): string {
  const { checker } = options
  const type = checker.getTypeOfSymbol(property)
  if (type === undefined) throw new Error(`the property ${property.name} has no type`)
  const comment = property.getDocumentationComment(checker).trim().split('\n')
  const said =
    comment.join('') === '' ? '' : `${indent}/** ${comment.map((line) => line.trim()).join(`\n${indent} * `)} */\n`
  const name = /^[A-Za-z_$][\w$]*$/.test(property.name) ? property.name : JSON.stringify(property.name)
  const optional = (property.flags & SymbolFlags.Optional) === 0 ? '' : '?'
  return `${said}${indent}${name}${optional}: ${printType(type, options, indent)}`
}
