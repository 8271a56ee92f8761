import { parseSync } from 'oxc-parser'

/** One change of one file. */
export interface Mutant {
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  readonly start: number
  readonly end: number
  readonly kind: string
  readonly before: string
  readonly after: string
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** What each operator is replaced with: the boundary first, then the opposite. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '++': ['--'],
  '--': ['++'],
}

/** Calls that only inform people, such as logging. Tests need not notice that they are missing. */
const MESSAGES = /^(this\.)?#?(options\.|context\.)?log\.|^log\(|\.(setMaxListeners|unref)\(/

/** All mutants of a file, in source order. Types, imports, declarations of tables and texts are not changed. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const found: Mutant[] = []
  const add = (kind: string, start: number, end: number, after: string) => {
    const line = source.slice(0, start).split('\n').length
    found.push({ file, line, start, end, kind, before: source.slice(start, end), after })
  }
  const { program } = parseSync(file, source)
  visit(program as unknown as Node, (node, inside) => {
    const text = source.slice(node.start, node.end)
    switch (node.type) {
      case 'IfStatement':
      case 'ConditionalExpression':
      case 'WhileStatement': {
        const test = node['test'] as Node
        if (node.type !== 'WhileStatement') add('condition', test.start, test.end, 'true')
        add('condition', test.start, test.end, 'false')
        break
      }
      case 'BinaryExpression':
      case 'LogicalExpression':
      case 'AssignmentExpression': {
        const [left, right] = [node['left'] as Node, node['right'] as Node]
        if (node['operator'] === '+' && [left, right].some(isText)) break
        const gap = source.slice(left.end, right.start)
        const at = left.end + gap.indexOf(node['operator'] as string)
        for (const other of OPERATORS[node['operator'] as string] ?? []) {
          add('operator', at, at + (node['operator'] as string).length, other)
        }
        break
      }
      case 'UpdateExpression':
        add(
          'operator',
          node.start,
          node.end,
          text.replaceAll(/\+\+|--/g, (sign) => OPERATORS[sign]?.[0] ?? sign),
        )
        break
      case 'UnaryExpression':
        if (node['operator'] === '!') add('negation', node.start, node.start + 1, '')
        break
      case 'ExpressionStatement':
        if ('directive' in node && node['directive']) break
        if (!MESSAGES.test(text) && !text.startsWith('super(')) add('statement', node.start, node.end, ';')
        break
      case 'ThrowStatement':
        add('throw', node.start, node.end, ';')
        break
      case 'Literal':
        if (typeof node['value'] === 'boolean') {
          add('literal', node.start, node.end, String(!node['value']))
        }
        if (typeof node['value'] === 'number' && inside === 'code') {
          add('literal', node.start, node.end, `(${node['raw'] as string} + 1)`)
        }
        break
      case 'ReturnStatement': {
        const value = node['argument'] as Node | null
        if (value?.type === 'ArrayExpression' && value.end - value.start > 2)
          add('return', value.start, value.end, '[]')
        break
      }
      default:
    }
  })
  return found.toSorted((a, b) => a.start - b.start || a.after.localeCompare(b.after))
}

function isText({ type, value }: Node): boolean {
  return type === 'TemplateLiteral' || (type === 'Literal' && typeof value === 'string')
}

/** Visits nodes that are executed: `code` inside functions, `module` outside. Types are skipped. */
function visit(node: Node, see: (node: Node, inside: 'code' | 'module') => void, inside: 'code' | 'module' = 'module') {
  if (node.type.startsWith('TS') && !EXPRESSIONS.has(node.type)) return
  if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return
  see(node, inside)
  const within = /Function/.test(node.type) ? 'code' : inside
  for (const child of Object.values(node)) {
    for (const one of Array.isArray(child) ? child : [child]) {
      if (typeof one === 'object' && one !== null && 'type' in one) visit(one as Node, see, within)
    }
  }
}

/** TypeScript nodes that contain an expression. */
const EXPRESSIONS: ReadonlySet<string> = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'])
