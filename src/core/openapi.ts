import { STATUS_CODES } from 'node:http'
import type { TSchema } from 'typebox'
import type { ErrorDefinition } from './error.ts'
import { limitClassOf, RATE_LIMITS } from './limits.ts'
import { returnsFile, type NamedOperation } from './operation.ts'
import { ErrorBody, ProblemBody } from './schema.ts'
import { SCOPES, type Scope } from './scope.ts'
import { ComponentSchemas, type Json } from './openapi-schemas.ts'
import { headers, parameters, securitySchemes } from './openapi-parts.ts'
import { webhooksOf } from './openapi-webhooks.ts'
import type { EventType } from './event.ts'
import type { UploadDeclaration } from './upload.ts'

/** A recorded request and reply of an operation. */
export interface OperationExample {
  /** The JSON body; absent if there is none. */
  readonly request?: unknown
  readonly status: number
  /** Absent if the reply has no JSON body. */
  readonly reply?: unknown
}

/** The parts of the document other than the operations. */
export interface OpenApiOptions {
  readonly title: string
  readonly version: string
  readonly description: string
  /** Descriptions of the domains, in Markdown. */
  readonly domains: Readonly<Record<string, string>>
  /** Events that webhooks send. */
  readonly events?: readonly EventType[]
  /** Recorded requests and replies by operation; may be absent. */
  readonly examples?: ReadonlyMap<string, OperationExample>
  /** Errors that are returned before an operation's handler runs. */
  readonly pipelineErrors: (op: NamedOperation) => readonly ErrorDefinition[]
}

/** The OpenAPI 3.1 document of all operations. The output is deterministic. */
export function openApiDocument(operations: readonly NamedOperation[], options: OpenApiOptions): Json {
  const schemas = new ComponentSchemas()
  const { events = [] } = options
  const known = [ErrorBody, ProblemBody, ...operations.flatMap(schemasOf), ...events.map(({ data }) => data)]
  for (const schema of known) schemas.learn(schema)
  const replies = new ErrorReplies(schemas)
  const paths: Record<string, Record<string, Json>> = {}
  for (const op of operations.toSorted(byPath)) {
    paths[op.pattern] ??= {}
    ;(paths[op.pattern] as Record<string, Json>)[op.method.toLowerCase()] = describe(op, options, schemas, replies)
  }
  const domains = [...new Set(operations.map((op) => op.domain))]
  return {
    openapi: '3.1.1',
    info: { title: options.title, version: options.version, description: options.description },
    servers: [{ url: '/', description: 'The server that serves this document' }],
    tags: domains.map((name) => ({ name, ...(options.domains[name] ? { description: options.domains[name] } : {}) })),
    paths,
    ...(events.length > 0 && { webhooks: webhooksOf(events, schemas) }),
    components: {
      securitySchemes,
      parameters,
      headers,
      responses: replies.components(),
      schemas: schemas.components(),
    },
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Sorts by name, because the order of a module's exports depends on how it is loaded and the output must not. */
function byPath(a: NamedOperation, b: NamedOperation): number {
  if (a.pattern !== b.pattern) return a.pattern < b.pattern ? -1 : 1
  return METHODS.indexOf(a.method) - METHODS.indexOf(b.method)
}

function schemasOf(op: NamedOperation): TSchema[] {
  const returns = Object.values(op.returns as Record<string, unknown>).filter((schema) => isSchema(schema))
  return [op.path, op.query, op.body, ...returns].filter((schema) => schema !== undefined) as TSchema[]
}

function isSchema(returns: unknown): returns is TSchema {
  return returns !== null && !contentTypeOf(returns)
}

function contentTypeOf(returns: unknown): string | undefined {
  return (returns as { contentType?: string } | null)?.contentType
}

function describe(op: NamedOperation, options: OpenApiOptions, schemas: ComponentSchemas, replies: ErrorReplies): Json {
  const scope = op.access.includes(':') ? (op.access as Scope) : undefined
  const example = options.examples?.get(op.name)
  return {
    operationId: op.name,
    tags: [op.domain],
    summary: op.summary,
    description: [op.description, accessInWords(op, scope), op.turn ? TURN : undefined].filter(Boolean).join('\n\n'),
    security: security(op, scope),
    'x-access': op.access,
    ...(scope ? { 'x-scope': scope } : {}),
    'x-turn': op.turn === true,
    'x-rate-limit': limitClassOf(op),
    parameters: [...fields(op, 'path', schemas), ...fields(op, 'query', schemas), ...headerParameters(op)],
    ...((op.body ?? op.upload) ? { requestBody: requestBody(op, schemas, example) } : {}),
    responses: responses(op, [...options.pipelineErrors(op), ...(op.errors ?? [])], schemas, replies, example),
  }
}

const TURN = 'Runs as a turn of the workspace. The changes of a workspace run one after another.'

function accessInWords(op: NamedOperation, scope: Scope | undefined): string {
  if (scope) return `Requires the scope \`${scope}\` in the workspace: ${SCOPES[scope].toLowerCase()}.`
  if (op.access === 'admin') return 'For platform administrators.'
  if (op.access === 'internal') return 'For workers of this installation. Requests are signed.'
  if (op.bearer === 'own') return 'Requires a token for this operation as `Authorization: Bearer`.'
  return op.access === 'public' ? 'Requires no credential.' : 'For every signed-in user.'
}

function security(op: NamedOperation, scope: Scope | undefined): Json[] {
  if (op.bearer === 'own') return [{ ownToken: [] }]
  if (op.access === 'public') return []
  const roles = scope ? [scope] : []
  return [{ bearer: roles }, { apiKey: roles }, ...(op.link ? [{ signedUrl: [] }] : [])]
}

function fields(op: NamedOperation, where: 'path' | 'query', schemas: ComponentSchemas): Json[] {
  const schema = op[where] as { properties?: Record<string, TSchema>; required?: string[] } | undefined
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => {
    const { description, ...written } = schemas.write(field)
    const example = op.example[where]?.[name]
    return {
      name,
      in: where,
      required: where === 'path' || (schema?.required ?? []).includes(name),
      ...(description ? { description } : {}),
      schema: written,
      ...(example === undefined ? {} : { example }),
      // Arrays are written by repeating the parameter. The server accepts commas too.
      ...(written['type'] === 'array' ? { style: 'form', explode: true } : {}),
    }
  })
}

function headerParameters(op: NamedOperation): Json[] {
  const names = ['RequestId']
  if (op.method === 'POST') names.push('IdempotencyKey')
  if (op.etag && op.method !== 'GET') names.push('IfMatch')
  if (op.etag === true && op.method === 'GET') names.push('IfNoneMatch')
  if (returnsFile(op)) names.push('IfNoneMatch', 'Range', 'IfRange')
  if (op.upload?.ranges) names.push('ContentRange')
  if (op.languages) names.push('AcceptLanguage')
  const references = names.map((name): Json => ({ $ref: `#/components/parameters/${name}` }))
  if (op.signature === undefined) return references
  const description = 'Signs the body, and is checked against it'
  const schema = { type: 'string' }
  // With `bearer`, the operation takes either.
  const required = op.bearer === undefined
  return [...references, { name: op.signature, in: 'header', required, description, schema }]
}

function requestBody(op: NamedOperation, schemas: ComponentSchemas, recorded?: OperationExample): Json {
  const body = (op.body ?? NO_FIELDS) as TSchema
  if (op.upload) return uploadBody(op.upload, schemas.write(body), recorded)
  const example = recorded?.request ?? op.example.body
  return {
    required: op.bodyOptional !== true,
    content: {
      [op.bodyType ?? 'application/json']: {
        schema: schemas.write(body),
        ...(example === undefined ? {} : { example }),
      },
    },
  }
}

const NO_FIELDS = { type: 'object', properties: {}, additionalProperties: false }

function uploadBody({ kind, maxBytes }: UploadDeclaration, fields: Json, recorded?: OperationExample): Json {
  const bytes = { type: 'string', format: 'binary', description: `At most ${maxBytes} bytes` }
  if (kind === 'raw') return { required: true, content: { '*/*': { schema: bytes } } }
  const file = { ...bytes, description: `${bytes.description}. Must be the last part, after all fields` }
  const schema = {
    ...fields,
    properties: { ...(fields['properties'] as Json), file },
    required: [...((fields['required'] as string[] | undefined) ?? []), 'file'],
  }
  const example = recorded && { ...(recorded.request as Json | undefined), file: 'the bytes of the file' }
  return { required: true, content: { 'multipart/form-data': { schema, ...(example && { example }) } } }
}

function responses(
  op: NamedOperation,
  errors: readonly ErrorDefinition[],
  schemas: ComponentSchemas,
  replies: ErrorReplies,
  example?: OperationExample,
): Record<string, Json> {
  const result: Record<string, Json> = {}
  for (const [status, definitions] of byStatus(errors)) result[status] = replies.refer(status, definitions)
  for (const [status, returns] of Object.entries(op.returns as Record<string, TSchema | null>)) {
    const recorded = String(example?.status) === status ? example?.reply : undefined
    const own = reply(op, status, returns, schemas, recorded)
    // A status can be both a success and an error (such as 503 of the readiness report). The body is one of the two.
    result[status] = result[status] ? either(own, replies.inline(status, byStatus(errors).get(status) ?? [])) : own
  }
  if (returnsFile(op)) {
    result['206'] = { ...(result['200'] as Json), description: 'The requested range of bytes' }
    result['304'] = { description: 'Not modified since the ETag in If-None-Match' }
  }
  if (op.etag === true && op.method === 'GET')
    result['304'] = { description: 'Not modified since the ETag in If-None-Match' }
  return result
}

function reply(
  op: NamedOperation,
  status: string,
  returns: TSchema | null,
  schemas: ComponentSchemas,
  example: unknown,
): Json {
  const names = ['X-Request-Id']
  if (op.etag) names.push('ETag')
  if (status === '200' && returnsFile(op)) {
    names.push('ETag', 'Accept-Ranges', 'Content-Range', 'Content-Disposition')
  }
  if (op.method === 'POST') names.push('Idempotent-Replayed')
  names.push(...(op.headers ?? []))
  if (limitClassOf(op) in RATE_LIMITS) names.push('RateLimit', 'RateLimit-Policy')
  const type = contentTypeOf(returns)
  return {
    description: STATUS_CODES[status] ?? status,
    headers: referTo(names),
    ...(type ? { content: { [type]: { schema: { type: 'string', format: 'binary' } } } } : {}),
    ...(returns !== null && !type ? { content: { 'application/json': shown(schemas.write(returns), example) } } : {}),
  }
}

function shown(schema: Json, example: unknown): Json {
  return example === undefined ? { schema } : { schema, example }
}

function either(own: Json, error: Json): Json {
  const content = own['content'] as Record<string, { schema: Json; example?: unknown }>
  const others = error['content'] as Record<string, { schema: Json }>
  const json = content['application/json']
  // A page of its own, in HTML, beside an error in JSON.
  if (json === undefined) return { ...own, content: { ...others, ...content } }
  const schema = { anyOf: [json.schema, others['application/json']?.schema] }
  return { ...own, content: { ...others, 'application/json': shown(schema, json.example) } }
}

function referTo(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function byStatus(errors: readonly ErrorDefinition[]): Map<string, ErrorDefinition[]> {
  const groups = new Map<string, ErrorDefinition[]>()
  for (const error of [...new Map(errors.map((row) => [row.code, row])).values()].sort(inTableOrder)) {
    const status = String(error.status)
    groups.set(status, [...(groups.get(status) ?? []), error])
  }
  return groups
}

function inTableOrder(a: ErrorDefinition, b: ErrorDefinition): number {
  return a.status - b.status || a.code.localeCompare(b.code)
}

/** Error replies. Many operations share a set of codes, so each set is listed once, named by its codes. */
class ErrorReplies {
  readonly #schemas: ComponentSchemas
  readonly #sets = new Map<string, Json>()

  constructor(schemas: ComponentSchemas) {
    this.#schemas = schemas
  }

  refer(status: string, errors: readonly ErrorDefinition[]): Json {
    const name = errors.map((error) => error.code).join('.')
    if (!this.#sets.has(name)) this.#sets.set(name, this.inline(status, errors))
    return { $ref: `#/components/responses/${name}` }
  }

  inline(status: string, errors: readonly ErrorDefinition[]): Json {
    const names = ['X-Request-Id']
    if (status === '401') names.push('WWW-Authenticate')
    if (status === '429' || status === '503') names.push('Retry-After')
    if (status === '429') names.push('RateLimit', 'RateLimit-Policy')
    return {
      description: `${STATUS_CODES[status]}\n\n${errors.map((error) => `- \`${error.code}\`: ${error.message}`).join('\n')}`,
      headers: referTo(names),
      content: {
        'application/json': { schema: this.#schemas.write(ErrorBody) },
        'application/problem+json': { schema: this.#schemas.write(ProblemBody) },
      },
      'x-codes': errors.map((error) => error.code),
    }
  }

  components(): Record<string, Json> {
    return Object.fromEntries([...this.#sets].sort(([a], [b]) => a.localeCompare(b)))
  }
}
