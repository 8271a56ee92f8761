import type { NamedOperation, Returns } from '../../../src/core/operation.ts'
import type { TSchema } from '../../../src/core/schema.ts'
import { indented, type TypeWriter } from './type-writer.ts'

const SUCCESS = ['200', '201', '202', '204', '206']

/** `src/sdk/routes.ts` with its types written out. */
export function routeDeclarations(operations: readonly NamedOperation[], writer: TypeWriter): string {
  const routes = operations.map(
    (op) => `  /** ${op.summary.replaceAll('*/', '*\\/')} */\n  '${op.route as string}': ${routeType(op, writer)}\n`,
  )
  const names = operations.map((op) => `  ${op.name}: '${op.route as string}'\n`)
  const body = `export interface Routes {
${routes.join('')}}

export interface OperationRoutes {
${names.join('')}}
`
  return `import type { ${writer.namesIn(body).join(', ')} } from '../schemas.ts'\n\n${body}`
}

function routeType(op: NamedOperation, writer: TypeWriter): string {
  const { body, path, query, returns, upload } = op as {
    body?: TSchema
    path?: TSchema
    query?: TSchema
  } & NamedOperation
  const part = (schema: TSchema | undefined) => (schema === undefined ? 'undefined' : indented(writer.typeOf(schema)))
  const replies = Object.entries(returns as Record<string, Returns>)
    .filter(([status]) => SUCCESS.includes(status))
    .map(([status, reply]) => `${status}: ${indented(indented(replyType(reply, writer)))}`)
  const { 200: ok } = returns as Record<number, { readonly file?: true } | null>
  const lines = [
    `path: ${part(path)}`,
    `query: ${query === undefined ? 'undefined' : indented(writer.queryTypeOf(query))}`,
    `body: ${part(body)}`,
    `upload: ${upload === undefined ? 'undefined' : `'${upload.kind}'`}`,
    `file: ${ok?.file === true}`,
    `replies: { ${replies.join('; ')} }`,
  ]
  return `{\n${lines.map((line) => `    ${indented(line)}\n`).join('')}  }`
}

function replyType(reply: Returns, writer: TypeWriter): string {
  if (reply === null) return 'undefined'
  return 'contentType' in reply ? 'Uint8Array' : writer.typeOf(reply)
}
