import { deserialize, serialize } from 'node:v8'
import type { Codec } from '../../actors/index.ts'
import { AppError, errorTable, type AppErrorOptions, type ErrorDefinition } from '../core/error.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { TurnPayload } from './payload.ts'

interface PlainError {
  /** Set for an `AppError`. */
  readonly code?: string
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly options?: Pick<AppErrorOptions, 'errors' | 'retryAfter' | 'details' | 'hint'>
}

interface PlainRawBody {
  readonly raw: { readonly contentType: string; readonly content: string | Uint8Array }
}

/**
 * Serializes turns, replies and errors for other nodes. Structured cloning keeps sets, dates and bytes; our own classes
 * are converted to plain objects and back. Only data of nodes that know the cluster secret is decoded.
 */
export const turnCodec: Codec = {
  encode(kind, data) {
    const plain =
      kind === 'payload' ? plainPayload(data as TurnPayload) : kind === 'error' ? plainError(data) : plainValue(data)
    return serialize(plain).toString('base64')
  },
  decode(kind, text) {
    const plain: unknown = deserialize(Buffer.from(text, 'base64'))
    if (kind === 'error') return errorOf(plain as PlainError)
    // A payload is not wrapped, so it is returned unchanged.
    return valueOf(plain)
  },
}

/** The fields of a request may be getters that read from the connection. Copying reads them. */
function plainPayload(payload: TurnPayload): TurnPayload {
  if (payload.kind === 'system') return payload
  const { path, query, body, caller, member, workspaceId, requestId, remoteAddress, userAgent, ifMatch, prepared } =
    payload.context
  return {
    ...payload,
    context: { path, query, body, caller, member, workspaceId, requestId, remoteAddress, userAgent, ifMatch, prepared },
  }
}

function plainValue(value: unknown): unknown {
  const body = (value as Partial<Reply> | undefined)?.body
  if (!(body instanceof RawBody)) return value
  const { contentType, content } = body
  return { ...(value as Reply), body: { raw: { contentType, content } } satisfies PlainRawBody }
}

function valueOf(plain: unknown): unknown {
  const raw = ((plain as Partial<Reply> | undefined)?.body as Partial<PlainRawBody> | undefined)?.raw
  return raw === undefined ? plain : { ...(plain as Reply), body: new RawBody(raw.contentType, raw.content) }
}

function plainError(error: unknown): PlainError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const { name, message, stack } = error
  const plain = { name, message, stack }
  if (!(error instanceof AppError)) return plain
  const { code, errors, retryAfter, details, hint } = error
  return { ...plain, code, options: { errors, retryAfter, details, hint } }
}

function errorOf({ code, name, message, stack, options }: PlainError): Error {
  const definition = definitions().get(code ?? '')
  if (definition) return new AppError(definition, { ...options, message })
  return Object.assign(new Error(message), { name, ...(stack === undefined ? {} : { stack }) })
}

let table: ReadonlyMap<string, ErrorDefinition> | undefined

/** Read on first use, when every domain has added its errors. */
function definitions(): ReadonlyMap<string, ErrorDefinition> {
  table ??= new Map(errorTable().map((definition) => [definition.code, definition]))
  return table
}
