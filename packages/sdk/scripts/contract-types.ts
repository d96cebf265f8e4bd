import {
  type InterfaceDeclaration,
  isIndexedAccessTypeNode,
  isInterfaceDeclaration,
  isTypeAliasDeclaration,
  isTypeOperatorNode,
  isTypeReferenceNode,
  type Node,
  type TypeAliasDeclaration,
} from 'typescript/unstable/ast'
import { API, type Checker, type Project, type Type } from 'typescript/unstable/sync'
import { printType } from './print-type.ts'

/** What is inferred from a value: a schema, or a list of constants. */
const INFERRED = /^z\.(input|output|infer)<|^\(typeof \w+\)\[|^keyof typeof /

/**
 * The declarations of these types of the contract and of all that they are made of, as one module that imports nothing: interfaces as they
 * stand in the sources, and what is inferred from a schema written out.
 */
export function contractTypes(root: string, wanted: Iterable<string>): string {
  const api = new API({ cwd: root })
  try {
    const project = api.updateSnapshot({ openProject: `${root}/tsconfig.json` }).getProjects()[0]
    if (project === undefined) throw new Error(`${root}/tsconfig.json is no project`)
    const declarations = declarationsOf(project, `${root}/packages/contract/src/`)
    const reached = new Map<string, string>()
    const pending = [...wanted]
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      const node = declarations.get(name)
      if (node === undefined || reached.has(name)) continue
      const text = declare(name, node, project.checker, declarations)
      reached.set(name, text)
      pending.push(...namesIn(text))
    }
    const texts = [...reached].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, text]) => text)
    return `${texts.join('\n\n')}\n`
  } finally {
    api.close()
  }
}

/** The types that a declaration may speak of. */
function namesIn(text: string): string[] {
  const code = text.replace(/\/\*[^]*?\*\/|'[^'\n]*'|"[^"\n]*"/g, '')
  return code.match(/\b[A-Z]\w*\b(?!\??:)/g) ?? []
}

type Declaration = InterfaceDeclaration | TypeAliasDeclaration

function declarationsOf({ program }: Project, folder: string): ReadonlyMap<string, Declaration> {
  const found = new Map<string, Declaration>()
  for (const file of program.getSourceFileNames()) {
    if (!file.startsWith(folder) || /\.(test|fixture)\.ts$/.test(file)) continue
    for (const node of program.getSourceFile(file)?.statements ?? []) {
      if (!isInterfaceDeclaration(node) && !isTypeAliasDeclaration(node)) continue
      if (found.has(node.name.text)) throw new Error(`the contract declares ${node.name.text} twice`)
      found.set(node.name.text, node)
    }
  }
  return found
}

function declare(
  name: string,
  node: Declaration,
  checker: Checker,
  declarations: ReadonlyMap<string, Declaration>,
): string {
  const options = { checker, nameOf: (type: Type) => contractName(type, declarations) }
  const file = node.getSourceFile().text
  let text = ''
  let from = node.pos
  for (const part of inferredTypes(node)) {
    const type = checker.getTypeAtLocation(part)
    if (type === undefined) throw new Error(`${name} has no type`)
    text += file.slice(from, part.getStart()) + printType(type, options)
    from = part.end
  }
  const whole = (text + file.slice(from, node.end)).trim()
  return whole.replace(/^((?:\/\*[^]*?\*\/\s*)*)(?:export )?/, '$1export ')
}

const isInferable = (node: Node): boolean =>
  isTypeReferenceNode(node) || isIndexedAccessTypeNode(node) || isTypeOperatorNode(node)

/** The outermost parts of a declaration that are inferred. */
function inferredTypes(node: Node): Node[] {
  const found: Node[] = []
  const visit = (part: Node): void => {
    if (isInferable(part) && INFERRED.test(part.getText())) found.push(part)
    else part.forEachChild(visit)
  }
  node.forEachChild(visit)
  return found
}

/** Brands and the like: types of the contract that keep their name where a schema gives them. */
function contractName(type: Type, declarations: ReadonlyMap<string, Declaration>): string | null {
  const name = type.getAliasSymbol()?.name ?? (type.isClassOrInterface() ? type.getSymbol()?.name : undefined)
  const node = name === undefined ? undefined : declarations.get(name)
  if (name === undefined || node === undefined) return null
  return inferredTypes(node).length > 0 ? null : name
}
