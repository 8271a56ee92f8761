import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The commands, from openapi.json, which lists all operations. Reading it takes a
 * tenth of the time of loading the operations.
 */

export interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly default?: unknown
  readonly $ref?: string
}

interface Described {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly 'x-access': string
  readonly parameters: readonly {
    readonly name?: string
    readonly in?: string
    readonly required?: boolean
    readonly description?: string
    readonly schema?: Schema
  }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}

export interface Document {
  readonly info: { readonly version: string }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** One input of a command. */
export interface Field {
  readonly name: string
  /** Without dashes: `workspace-id`. */
  readonly flag: string
  readonly in: 'path' | 'query' | 'body'
  readonly required: boolean
  readonly schema: Schema
}

export interface Command {
  readonly domain: string
  /** For example `go-live`. */
  readonly name: string
  readonly operation: string
  readonly route: string
  readonly summary: string
  readonly description: string
  readonly access: string
  readonly fields: readonly Field[]
  /** Whether there is a body, and whether it is required. */
  readonly body: 'required' | 'optional' | 'none'
  readonly takesVersion: boolean
  /** How the command sends a file, if it does: in addition to its fields, or as the whole body. */
  readonly upload: 'multipart' | 'raw' | undefined
  /** Whether the reply is a file. */
  readonly download: boolean
}

const DOCUMENT = fileURLToPath(new URL('../../openapi.json', import.meta.url))
const GENERATE = fileURLToPath(new URL('../registry/generate.ts', import.meta.url))

/** Reads openapi.json. The installation and the container image have made it; otherwise it is made now, in two seconds. */
export function readDocument(): Document {
  return JSON.parse(existsSync(DOCUMENT) ? readFileSync(DOCUMENT, 'utf8') : madeDocument()) as Document
}

/** In a process of its own, because the operations load the whole service. */
function madeDocument(): string {
  const text = execFileSync(process.execPath, [GENERATE, 'openapi', '--print'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  try {
    writeFileSync(DOCUMENT, text)
  } catch {
    // Crier is installed where this user cannot write. The next command makes it again.
  }
  return text
}

/** All commands, in the order of the operations. */
export function commandsOf(document: Document): Command[] {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, op]) => ({ route: `${method.toUpperCase()} ${path}`, op })),
  )
  const names = new Map<string, number>()
  const short = (op: Described) => `${domainOf(op)} ${shortName(op.operationId, domainOf(op))}`
  for (const { op } of described) names.set(short(op), (names.get(short(op)) ?? 0) + 1)
  return described.map(({ route, op }) => {
    const domain = domainOf(op)
    const isUnique = names.get(short(op)) === 1
    return {
      domain,
      name: isUnique ? shortName(op.operationId, domain) : kebab(op.operationId),
      operation: op.operationId,
      route,
      summary: op.summary,
      description: op.description,
      access: op['x-access'],
      fields: fieldsOf(document, op),
      body: bodyOf(op),
      takesVersion: JSON.stringify(op.parameters).includes('/IfMatch'),
      upload: uploadOf(op),
      download: Object.keys(op.responses['200']?.content ?? {}).includes('*/*'),
    }
  })
}

/** A command by its name, or by its operation's name in camelCase or kebab-case. */
export function findCommand(commands: readonly Command[], domain: string, name: string): Command | undefined {
  const own = commands.filter((command) => command.domain === domain)
  return own.find((command) => command.name === name) ?? own.find((command) => kebab(command.operation) === kebab(name))
}

/**
 * The operation's name in kebab-case without the noun of the domain: `createStream` of `streams` is `create`,
 * `listStreams` is `list`, `goLive` is `go-live`. If two commands would get the same name, both keep their full names.
 */
export function shortName(operation: string, domain: string): string {
  const noun = domain.replace(/s$/, '')
  // A noun of several words, such as `social-accounts`, is removed as a whole.
  const name = domain.includes('-') ? kebab(operation).replace(new RegExp(`-${noun}s?$`), '') : kebab(operation)
  const [verb = '', ...rest] = name.split('-')
  return [verb, ...rest.filter((word) => word !== noun && word !== domain)].join('-')
}

export function kebab(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
}

function uploadOf({ requestBody }: Described): Command['upload'] {
  if (requestBody?.content['multipart/form-data']) return 'multipart'
  return requestBody?.content['*/*'] ? 'raw' : undefined
}

function bodyOf(op: Described): Command['body'] {
  const upload = uploadOf(op)
  const { properties = {} } = op.requestBody?.content['multipart/form-data']?.schema ?? {}
  const isBare = upload === 'multipart' && Object.keys(properties).length === 1
  if (op.requestBody === undefined || upload === 'raw' || isBare) return 'none'
  return op.requestBody.required ? 'required' : 'optional'
}

function domainOf(op: Described): string {
  return op.tags[0] ?? 'other'
}

function fieldsOf(document: Document, op: Described): Field[] {
  const fields: Field[] = []
  const add = (name: string, place: Field['in'], required: boolean, schema: Schema) => {
    // Path parameters take precedence. A body field with the same name is set with --input.
    const flag = kebab(name)
    if (!fields.some((field) => field.flag === flag)) fields.push({ name, flag, in: place, required, schema })
  }
  for (const parameter of op.parameters) {
    if (parameter.name === undefined || (parameter.in !== 'path' && parameter.in !== 'query')) continue
    const description = parameter.description === undefined ? {} : { description: parameter.description }
    const schema = { ...resolve(document, parameter.schema ?? {}), ...description }
    add(parameter.name, parameter.in, parameter.required === true, schema)
  }
  const content = op.requestBody?.content
  const body = resolve(document, (content?.['application/json'] ?? content?.['multipart/form-data'])?.schema ?? {})
  for (const [name, schema] of Object.entries(body.properties ?? {})) {
    if (name === 'file' && uploadOf(op) === 'multipart') continue
    add(name, 'body', (body.required ?? []).includes(name), resolve(document, schema))
  }
  return fields
}

function resolve(document: Document, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (document.components.schemas[name] ?? {})
}
