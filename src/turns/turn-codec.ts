import { deserialize, serialize } from 'node:v8'
import type { Codec } from '../../actors/index.ts'
import { AppError, errorTable, type AppErrorOptions, type ErrorDefinition } from '../core/error.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { TurnPayload } from './payload.ts'

interface ErrorOnTheWay {
  /** Of an error that the caller may see. */
  readonly code?: string
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly options?: Omit<AppErrorOptions, 'message' | 'cause'>
}

interface RawOnTheWay {
  readonly raw: { readonly contentType: string; readonly content: string | Uint8Array }
}

/**
 * How turns, replies and errors cross to another node: structured clones, so that sets, dates and bytes stay what they
 * are, with those of our classes taken apart and put together again. Only read from nodes that know the cluster secret.
 */
export const turnCodec: Codec = {
  encode(kind, data) {
    const plain =
      kind === 'payload' ? plainPayload(data as TurnPayload) : kind === 'error' ? plainError(data) : plainValue(data)
    return serialize(plain).toString('base64')
  },
  decode(kind, text) {
    const plain: unknown = deserialize(Buffer.from(text, 'base64'))
    if (kind === 'error') return errorOf(plain as ErrorOnTheWay)
    return kind === 'value' ? valueOf(plain) : plain
  },
}

/** A request's data may be read on demand from what holds the connection; the owner gets it read. */
function plainPayload(payload: TurnPayload): TurnPayload {
  if (payload.kind === 'system') return payload
  const { path, query, body, caller, member, workspaceId, requestId, remoteAddress, userAgent, ifMatch } =
    payload.context
  return {
    ...payload,
    context: { path, query, body, caller, member, workspaceId, requestId, remoteAddress, userAgent, ifMatch },
  }
}

function plainValue(value: unknown): unknown {
  const body = (value as Partial<Reply> | undefined)?.body
  if (!(body instanceof RawBody)) return value
  const { contentType, content } = body
  return { ...(value as Reply), body: { raw: { contentType, content } } satisfies RawOnTheWay }
}

function valueOf(plain: unknown): unknown {
  const raw = ((plain as Partial<Reply> | undefined)?.body as Partial<RawOnTheWay> | undefined)?.raw
  return raw === undefined ? plain : { ...(plain as Reply), body: new RawBody(raw.contentType, raw.content) }
}

function plainError(error: unknown): ErrorOnTheWay {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const { name, message, stack } = error
  const plain = { name, message, ...(stack === undefined ? {} : { stack }) }
  if (!(error instanceof AppError)) return plain
  const { code, errors, retryAfter, details } = error
  return {
    ...plain,
    code,
    options: {
      ...(errors === undefined ? {} : { errors }),
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(details === undefined ? {} : { details }),
    },
  }
}

function errorOf({ code, name, message, stack, options }: ErrorOnTheWay): Error {
  const definition = code === undefined ? undefined : definitions().get(code)
  if (definition) return new AppError(definition, { ...options, message })
  return Object.assign(new Error(message), { name, ...(stack === undefined ? {} : { stack }) })
}

let table: ReadonlyMap<string, ErrorDefinition> | undefined

/** Read when first needed: every domain has added its errors by then. */
function definitions(): ReadonlyMap<string, ErrorDefinition> {
  table ??= new Map(errorTable().map((definition) => [definition.code, definition]))
  return table
}
