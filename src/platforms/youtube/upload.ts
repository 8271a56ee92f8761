import type { PostMedia } from '../content.ts'
import { PlatformError } from '../error-kinds.ts'
import type { PlatformReply } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'
import type { PublishContext } from '../publishing.ts'
import { call, TITLE } from './api.ts'
import { reader } from './replies.ts'

/** Pieces are multiples of 256 KiB, but for the last one. */
export const PIECE_BYTES = 8_388_608

const UPLOAD_TIMEOUT_MS = 300_000

/** The state of an upload. `gone`: the session has ended, and YouTube does not report its outcome. */
export type SessionState =
  | { readonly kind: 'open'; readonly offset: number }
  | { readonly kind: 'finished'; readonly video: string }
  | { readonly kind: 'gone' }

/** @returns the address of the upload */
export async function openSession(
  context: PublishContext,
  { bytes, type }: PostMedia,
  notifySubscribers: boolean | undefined,
  video: unknown,
): Promise<string> {
  const { headers } = await call(context, '/upload/youtube/v3/videos', {
    method: 'POST',
    query: { uploadType: 'resumable', part: 'snippet,status', notifySubscribers },
    headers: { 'X-Upload-Content-Length': String(bytes), 'X-Upload-Content-Type': type },
    json: video,
  })
  if (headers.location === undefined) {
    throw new PlatformError('unknown', TITLE, { code: 'no_session', detail: 'the reply has no Location' })
  }
  return headers.location
}

/** Sends the piece at an offset. If YouTube expects another one, the reply says which. */
export async function sendPiece(
  context: PublishContext,
  { bytes, id, type }: PostMedia,
  session: string,
  offset: number,
): Promise<SessionState> {
  const end = Math.min(bytes, offset + PIECE_BYTES)
  const reply = await call(context, session, {
    method: 'PUT',
    headers: { 'Content-Type': type, 'Content-Range': `bytes ${offset}-${end - 1}/${bytes}` },
    body: await context.media.read(id, offset, end),
    secrets: secretsOf(session),
    timeoutMs: UPLOAD_TIMEOUT_MS,
    expect: [400, 404, 410, 416],
  })
  if (reply.status < 400 || reply.status === 404 || reply.status === 410) return stateOf(reply)
  // The piece may have arrived before a lost reply, so that the session expects the next one.
  const found = await sessionState(context, session, bytes)
  if (found.kind === 'open' && found.offset === offset) throw errorOf(reply)
  return found
}

/** Asks a session how much it has received. */
export async function sessionState(context: AccountContext, session: string, size: number): Promise<SessionState> {
  return stateOf(
    await call(context, session, {
      method: 'PUT',
      headers: { 'Content-Range': `bytes */${size}` },
      secrets: secretsOf(session),
      expect: [404, 410],
    }),
  )
}

/** A 308 means that bytes are missing. Its Range header is absent while YouTube has none. */
function stateOf({ headers, json, status }: PlatformReply): SessionState {
  if (status === 404 || status === 410) return { kind: 'gone' }
  if (status === 308) {
    const [, last] = /-(\d+)$/.exec(headers.range ?? '') ?? []
    return { kind: 'open', offset: last === undefined ? 0 : Number(last) + 1 }
  }
  const { id } = (json ?? {}) as { id?: string }
  if (id === undefined) throw new PlatformError('unknown', TITLE, { code: 'no_id', detail: 'the reply has no id' })
  return { kind: 'finished', video: id }
}

function errorOf(reply: PlatformReply): PlatformError {
  const { kind = 'validation', ...rest } = reader.errorOf(reply) ?? {}
  return new PlatformError(kind, TITLE, { ...rest, httpStatus: reply.status, mayHaveHappened: false })
}

/** The query of a session authorizes its use. */
function secretsOf(session: string): string[] {
  return [...new URL(session).searchParams.values()]
}
