import type { StreamBody } from '../../fetch/outgoing.ts'
import type { PlatformReply, PlatformRequest } from '../http/platform-http.ts'
import type { PlatformContext } from '../platform.ts'
import { serverOf } from './servers.ts'

/** Refusals are replies to the library, which reads nonces and errors of OAuth from them. */
const REFUSALS = Array.from({ length: 100 }, (_, index) => 400 + index)

interface FetchOptions {
  /** Opens the body of the POST requests, in place of the one that the library has. */
  readonly body?: (() => Promise<StreamBody>) | undefined
  readonly timeoutMs?: number | undefined
  readonly secrets?: readonly string[]
}

/** A `fetch` of the guarded client, for a library. */
export interface GuardedFetch {
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** The last reply, and the error in place of it when there was none. */
  readonly last: { reply?: PlatformReply; error?: unknown }
}

export function guardedFetch(
  { http, settings, signal }: PlatformContext,
  { body, secrets = [], timeoutMs }: FetchOptions = {},
): GuardedFetch {
  const last: GuardedFetch['last'] = {}
  const send = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const hasBody = request.method === 'POST'
    const content = hasBody && body !== undefined ? await body() : Buffer.from(await request.arrayBuffer())
    const reply = await http.send({
      method: request.method as NonNullable<PlatformRequest['method']>,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      ...(hasBody && { body: content }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      userHost: serverOf(settings, request.url).userHost,
      secrets,
      expect: REFUSALS,
      signal,
    })
    last.reply = reply
    return responseOf(reply)
  }
  return {
    last,
    fetch: async (input, init) => {
      try {
        delete last.error
        return await send(input, init)
      } catch (error) {
        last.error = error
        throw error
      }
    },
  }
}

function responseOf({ bytes, headers, status }: PlatformReply): Response {
  const list = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  const isEmpty = status === 204 || status === 205 || status === 304
  return new Response(isEmpty ? null : new Uint8Array(bytes), { status, headers: list })
}
