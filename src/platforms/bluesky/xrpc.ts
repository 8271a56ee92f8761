import type { NodeSavedSession } from '@atproto/oauth-client-node'
import type { StreamBody } from '../../fetch/outgoing.ts'
import { PlatformError } from '../error-kinds.ts'
import type { PlatformReply, PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'
import { sendBound, sessionOf } from './oauth-session.ts'
import { errorOf } from './replies.ts'
import { serverOf, TITLE } from './servers.ts'

export type XrpcOptions = Pick<PlatformRequest, 'query' | 'json' | 'headers' | 'expect' | 'timeoutMs'> & {
  readonly method?: 'GET' | 'POST'
  /** Opens the body. */
  readonly body?: () => Promise<StreamBody>
}

/**
 * Calls a method of the account's PDS.
 * @param method its name, such as `com.atproto.repo.putRecord`
 * @throws PlatformError
 */
export async function send(context: AccountContext, method: string, options: XrpcOptions = {}): Promise<PlatformReply> {
  const session = sessionOf(context)
  if (session !== undefined) return sendWithSession(context, session, method, options)
  const { credential, http, settings, signal } = context
  const { accessToken, server = '' } = credential
  if (accessToken === undefined) throw new PlatformError('auth_expired', TITLE)
  const { url, userHost } = serverOf(settings, server)
  const { body, ...rest } = options
  return http.send({
    ...rest,
    ...(body && { body: await body() }),
    url: `${url}/xrpc/${method}`,
    headers: { Authorization: `Bearer ${accessToken}`, ...options.headers },
    secrets: [accessToken],
    userHost,
    signal,
  })
}

async function sendWithSession(
  context: AccountContext,
  session: NodeSavedSession,
  name: string,
  { body, expect = [], headers = {}, json, method = 'GET', query: params = {}, timeoutMs }: XrpcOptions,
): Promise<PlatformReply> {
  const list = Object.entries(params).filter(([, value]) => value !== undefined)
  const search = new URLSearchParams(list.map(([key, value]): [string, string] => [key, String(value)])).toString()
  const path = `/xrpc/${name}${search === '' ? '' : `?${search}`}`
  const reply = await sendBound(context, session, { method, path, headers, json, body, timeoutMs })
  const fault = expect.includes(reply.status) ? undefined : errorOf(reply)
  if (fault === undefined) return reply
  const { kind, ...rest } = fault
  throw new PlatformError(kind, TITLE, { ...rest, httpStatus: reply.status, mayHaveHappened: false })
}

/** Like `send`, with the JSON of the reply. */
export async function query<T>(
  context: AccountContext,
  method: string,
  params: NonNullable<XrpcOptions['query']> = {},
): Promise<T> {
  return (await send(context, method, { query: params })).json as T
}

/** Calls a method with an effect. */
export async function procedure<T>(context: AccountContext, method: string, json: unknown): Promise<T> {
  return (await send(context, method, { method: 'POST', json })).json as T
}

/** The DID of the account. */
export function didOf({ credential, remoteId }: AccountContext): string {
  return typeof credential['did'] === 'string' ? credential['did'] : remoteId
}
