import { PlatformError } from '../error-kinds.ts'
import { multipart, type FilePart } from '../http/multipart.ts'
import type { PlatformContext } from '../platform.ts'
import { MIGRATED } from './replies.ts'

export const TITLE = 'Telegram'

/** The parameters of a method. Undefined ones are left out. */
export type Params = Readonly<Record<string, unknown>>

interface CallOptions {
  /** Opens the files of the call. A repeated call opens them again. */
  readonly files?: () => Promise<readonly FilePart[]>
  readonly timeoutMs?: number
}

/**
 * Calls a method of the Bot API. A group that has become a supergroup has another id: Telegram refuses the call and names
 * the id, and the call is made once more with it.
 * @throws PlatformError
 */
export async function call<T>(
  context: PlatformContext,
  token: string,
  method: string,
  params: Params = {},
  options: CallOptions = {},
): Promise<T> {
  try {
    return await callOnce<T>(context, token, method, params, options)
  } catch (error) {
    const chat = error instanceof PlatformError && error.code?.startsWith(MIGRATED) && error.code.slice(MIGRATED.length)
    if (typeof chat !== 'string' || params['chat_id'] === undefined) throw error
    return callOnce<T>(context, token, method, { ...params, chat_id: chat }, options)
  }
}

async function callOnce<T>(
  { http, settings, signal }: PlatformContext,
  token: string,
  method: string,
  params: Params,
  { files, timeoutMs }: CallOptions,
): Promise<T> {
  const { json } = await http.send({
    method: 'POST',
    // The token is a part of the path at Telegram. The log and errors show it as `[redacted]`.
    url: `${settings.apiUrl}/bot${token}/${method}`,
    secrets: [token],
    ...(files === undefined ? { json: params } : multipart(fieldsOf(params), await files())),
    ...(timeoutMs !== undefined && { timeoutMs }),
    signal,
  })
  return (json as { readonly result: T }).result
}

/** Forms have only texts: other values are JSON (core.telegram.org/bots/api#making-requests, 2026-11). */
function fieldsOf(params: Params): Record<string, string | undefined> {
  const fields = Object.entries(params).map(([name, value]) => [
    name,
    value === undefined || typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return Object.fromEntries(fields) as Record<string, string | undefined>
}
