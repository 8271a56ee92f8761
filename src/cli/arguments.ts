import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { didYouMean } from './did-you-mean.ts'
import { kebab, type Command, type Field, type Schema } from './commands.ts'

/** The arguments do not fit the command. The message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Options of all commands. */
export const COMMON = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  get: { type: 'string', multiple: true },
  server: { type: 'string' },
  'api-key': { type: 'string' },
  'access-token': { type: 'string' },
  input: { type: 'string' },
  'if-match': { type: 'string' },
  'idempotency-key': { type: 'string' },
} as const

/** Options of commands that send a file, and of those that receive one. */
export const SENDING = { file: { type: 'string', short: 'f' }, type: { type: 'string' } } as const
export const RECEIVING = { output: { type: 'string', short: 'o' } } as const
const MOVING = { progress: { type: 'boolean' } } as const

/** The options of a command in addition to its fields. */
export function optionsOf({ download, upload }: Pick<Command, 'download' | 'upload'>) {
  return {
    ...COMMON,
    ...(upload && SENDING),
    ...(download && RECEIVING),
    ...((upload ?? download) && MOVING),
  }
}

export interface Parsed {
  readonly help: boolean
  readonly json: boolean
  /** Fields of the reply to print, instead of the whole reply. */
  readonly get: readonly string[]
  readonly server: string | undefined
  readonly apiKey: string | undefined
  readonly accessToken: string | undefined
  readonly ifMatch: string | undefined
  readonly idempotencyKey: string | undefined
  readonly path: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  /** The path of the file to send, and its media type if it does not follow from the name. */
  readonly file: string | undefined
  readonly type: string | undefined
  /** The path for a received file. */
  readonly output: string | undefined
  /** Whether to show the progress of a file; by default only on terminals. */
  readonly progress: boolean | undefined
}

type Values = Readonly<Record<string, string | boolean | string[] | undefined>>

/**
 * Parses the arguments after `crier <domain> <command>`. Path parameters may also be given without flags, in order.
 * @throws UsageError
 */
export function parseArguments(command: Command, args: readonly string[]): Parsed {
  const { values, positionals } = parse(command, args)
  const text = (name: string) => values[name] as string | undefined
  const parsed = {
    help: values['help'] === true,
    json: values['json'] === true,
    get: (values['get'] ?? []) as string[],
    server: text('server'),
    apiKey: text('api-key'),
    accessToken: text('access-token'),
    ifMatch: text('if-match'),
    idempotencyKey: text('idempotency-key'),
    file: command.upload && text('file'),
    type: command.upload && text('type'),
    output: command.download ? text('output') : undefined,
    progress: values['progress'] as boolean | undefined,
  }
  if (parsed.help) return { ...parsed, path: {}, query: {}, body: undefined }
  const found: Record<Field['in'], Record<string, unknown>> = { path: {}, query: {}, body: {} }
  const left = [...positionals]
  for (const field of command.fields) {
    const given = values[field.flag] ?? (field.in === 'path' ? left.shift() : undefined)
    if (given !== undefined) found[field.in][field.name] = convert(field, given)
  }
  if (left.length > 0) throw new UsageError(`unexpected argument: ${left.join(' ')}`)
  const body = bodyOf(command, wholeBody(command, values), found.body)
  const given = { ...found, body: (body ?? {}) as Record<string, unknown> }
  const missing = command.fields.filter(
    (field) => field.required && !(field.name in given[field.in]) && isNeeded(command, field, body),
  )
  const flags = missing.map((field) => `--${field.flag}`)
  if (command.upload && parsed.file === undefined) flags.push('--file')
  if (flags.length > 0) throw new UsageError(`missing ${flags.join(', ')}`)
  return { ...parsed, path: found.path, query: found.query, body }
}

function isNeeded(command: Command, field: Field, body: unknown): boolean {
  return field.in !== 'body' || command.body === 'required' || body !== undefined
}

function parse(command: Command, args: readonly string[]): { values: Values; positionals: string[] } {
  const options = Object.fromEntries(command.fields.map((field) => [field.flag, optionOf(field)]))
  try {
    const { values, positionals } = parseArgs({
      args: spell(command, args),
      options: {
        ...(command.body === 'none' ? {} : { body: { type: 'string' } as const }),
        ...optionsOf(command),
        ...options,
      },
      allowPositionals: true,
      allowNegative: true,
    })
    return { values, positionals }
  } catch (error) {
    const [first = 'cannot parse the command line'] = (error as Error).message.split('. ')
    const unknown = /^Unknown option '--(?:no-)?([^']+)'/.exec(first)?.[1]
    const flags = [...Object.keys(optionsOf(command)), ...command.fields.map((field) => field.flag)]
    const hint = unknown === undefined ? '' : didYouMean(unknown, flags, '--')
    throw new UsageError(first.replace(/^Unknown option/, 'unknown option') + hint, { cause: error })
  }
}

function optionOf(field: Field): { type: 'boolean' | 'string'; multiple?: true } {
  if (typeOf(field.schema) === 'boolean') return { type: 'boolean' }
  return typeOf(field.schema) === 'array' ? { type: 'string', multiple: true } : { type: 'string' }
}

/** `--workspaceId` becomes `--workspace-id`; `--enabled false` and `--enabled=false` become `--no-enabled`. */
function spell(command: Command, args: readonly string[]): string[] {
  const result: string[] = []
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] as string
    if (arg === '--') return [...result, ...args.slice(index)]
    const [, name, value] = /^--([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(arg) ?? []
    if (name === undefined) {
      result.push(arg)
      continue
    }
    const flag = kebab(name)
    const field = command.fields.find((one) => one.flag === flag)
    const next = args[index + 1]
    if (field && typeOf(field.schema) === 'boolean' && /^(true|false)$/.test(value ?? next ?? '')) {
      result.push((value ?? next) === 'true' ? `--${flag}` : `--no-${flag}`)
      if (value === undefined) index += 1
    } else if (value === undefined && next?.startsWith('-') && takesText(command, flag)) {
      // A value may start with a dash (a number, a word). Joined with `=`, it is not parsed as an option.
      result.push(/^--[a-z]/i.test(next) ? `--${flag}` : `--${flag}=${next}`)
      if (!/^--[a-z]/i.test(next)) index += 1
    } else {
      result.push(value === undefined ? `--${flag}` : `--${flag}=${value}`)
    }
  }
  return result
}

function takesText(command: Command, flag: string): boolean {
  const field = command.fields.find((one) => one.flag === flag)
  if (field) return typeOf(field.schema) !== 'boolean'
  const own: Readonly<Record<string, { readonly type: string }>> = optionsOf(command)
  return flag === 'body' || own[flag]?.type === 'string'
}

/** The body given with `--input` (or `--body`, if no field has that name): JSON, `@file`, or `-` for standard input. */
function wholeBody(command: Command, values: Values): unknown {
  const isField = command.fields.some((field) => field.flag === 'body')
  const given = (values['input'] ?? (isField ? undefined : values['body'])) as string | undefined
  if (given === undefined) return undefined
  if (command.body === 'none') throw new UsageError('this command has no body')
  let text = given
  try {
    if (given === '-') text = readFileSync(0, 'utf8')
    else if (given.startsWith('@')) text = readFileSync(given.slice(1), 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${given.slice(1)}: ${(error as Error).message}`, { cause: error })
  }
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new UsageError(`the body is not JSON: ${(error as Error).message}`, { cause: error })
  }
}

/** Flags are merged into the given body and take precedence. */
function bodyOf(command: Command, whole: unknown, fields: Record<string, unknown>): unknown {
  if (command.body === 'none') return undefined
  if (whole === undefined && Object.keys(fields).length === 0) return command.body === 'required' ? {} : undefined
  return Object.keys(fields).length === 0 ? whole : { ...(whole as object | undefined), ...fields }
}

function convert(field: Field, given: string | boolean | string[]): unknown {
  if (typeof given === 'boolean') return given
  if (Array.isArray(given)) return list(field, given)
  return scalar(field, field.schema, given)
}

function list(field: Field, given: readonly string[]): unknown[] {
  const [only] = given
  if (given.length === 1 && only?.trim().startsWith('[')) return json(field, only) as unknown[]
  return given.map((item) => scalar(field, field.schema.items ?? {}, item))
}

function scalar(field: Field, schema: Schema, given: string): unknown {
  const type = typeOf(schema)
  if (given === 'null' && isNullable(schema)) return null
  if (type === 'integer' || type === 'number') {
    const number = Number(given)
    if (given.trim() === '' || Number.isNaN(number))
      throw new UsageError(`--${field.flag} must be a number, not ${given}`)
    return number
  }
  if (type === 'boolean') {
    if (given !== 'true' && given !== 'false')
      throw new UsageError(`--${field.flag} must be true or false, not ${given}`)
    return given === 'true'
  }
  return type === 'string' ? given : json(field, given)
}

function json(field: Field, given: string): unknown {
  try {
    return JSON.parse(given) as unknown
  } catch {
    if (typeOf(field.schema) === undefined) return given
    throw new UsageError(`--${field.flag} must be JSON, such as ${typeOf(field.schema) === 'array' ? '[…]' : '{…}'}`)
  }
}

/** The type of a schema apart from null; undefined if it has several types or none. */
export function typeOf(schema: Schema): string | undefined {
  const options = schema.anyOf?.filter((option) => option.type !== 'null')
  if (options !== undefined) return options.length === 1 && options[0] ? typeOf(options[0]) : undefined
  if (schema.$ref !== undefined) return 'object'
  if (typeof schema.type !== 'object') return schema.type
  const types = schema.type.filter((type) => type !== 'null')
  return types.length === 1 ? types[0] : undefined
}

function isNullable(schema: Schema): boolean {
  return (
    schema.type === 'null' ||
    (Array.isArray(schema.type) && schema.type.includes('null')) ||
    (schema.anyOf ?? []).some(isNullable)
  )
}
