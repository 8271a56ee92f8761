import type { Readable } from 'node:stream'
import type { OpenedWhep } from '../../../../media/whip/whep/proxy.ts'
import { credentialRefOf, findValidCredentials, type CredentialRef } from '../../identity/auth/index.ts'
import type { Caller, Member } from '../../../core/caller.ts'
import { MINUTE, SECOND } from '../../../core/clock.ts'
import {
  BadRequest,
  Conflict,
  CredentialExpired,
  InvalidCredential,
  NotFound,
  Overloaded,
} from '../../../core/errors.ts'
import type { Tickets } from '../../../core/ports.ts'
import { UnsealError, type SealedBox } from '../../../tools/sealed-box.ts'
import type { Foundation, OpenPreview, WhepLink } from '../../../foundation.ts'
import { onCredentials } from '../../identity/users/index.ts'
import type { MemberCache } from '../../workspace/workspaces/index.ts'
import { type MediaDirectory, MediaUnavailable, NoUsableCodec } from '../media-nodes/index.ts'
import type { PreviewTokenData } from './schemas.ts'
import { findStream, type StreamRow } from '../streams/index.ts'

export interface OpenedPlayback {
  readonly session: string
  readonly sdp: string
  /** The `Link` header. */
  readonly links: Readonly<Record<string, string>>
}

type Dependencies = Pick<Foundation, 'clock' | 'coordination' | 'database' | 'log'> & {
  /** Encrypts tokens. */
  readonly tokens: SealedBox
  readonly media: MediaDirectory
  readonly memberships: MemberCache
  readonly open: OpenPreview
  readonly whep: WhepLink
  /** Values of the Link header that help WHEP clients to connect. */
  readonly links: readonly string[]
  readonly publicUrl: string
}

/** The content of a token: the stream, and the credential that created the token. */
interface Claims extends CredentialRef {
  readonly streamId: string
  /** Public part of the ingest key when the token was created. It changes when the stream is armed again. */
  readonly path: string
}

/** A viewer that is connected through this node. */
interface Viewer extends CredentialRef {
  readonly workspaceId: string
}

const TOKEN_LIFE_MS = 10 * MINUTE
const CLAIMS = 5
/** Prefix of an API key id in the place of a session id. */
const API_KEY = 'key:'
/** How often permissions are checked, in case a notice was lost. */
const RECHECK_MS = 5 * SECOND

/** Previews of streams, and the tokens with which browsers open them. */
export class Previews implements Tickets {
  readonly #dependencies: Dependencies
  readonly #watching = new Map<Readable, Viewer>()
  readonly #ends: (() => void)[]

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    const { coordination, memberships } = dependencies
    const timer = setInterval(() => void this.#recheck(), RECHECK_MS).unref()
    this.#ends = [
      memberships.onChange((id) => void this.#recheck(({ workspaceId }) => id === undefined || workspaceId === id)),
      onCredentials(coordination, (notice) => void this.#recheck(({ userId }) => userId === notice.userId)),
      () => clearInterval(timer),
    ]
  }

  /** @throws AppError not_found; conflict for a stream that has ended */
  async createToken(streamId: string, caller: Caller): Promise<PreviewTokenData> {
    const { clock, publicUrl, tokens } = this.#dependencies
    const row = await this.#find(streamId)
    if (row.status === 'ended') throw Conflict({ message: 'The stream has ended. Arm it first.' })
    const { apiKeyId, sessionId, since, userId } = credentialRefOf(caller, clock.now())
    const expiresAt = since + TOKEN_LIFE_MS
    const token = tokens.seal([userId, sessionId ?? `${API_KEY}${apiKeyId}`, streamId, row.path, expiresAt].join(' '))
    const pageUrl = `${publicUrl}/preview/${streamId}?token=${token}`
    const whepUrl = `${publicUrl}/api/streams/${streamId}/whep`
    return { token, expiresAt: new Date(expiresAt).toISOString(), pageUrl, whepUrl }
  }

  /** @throws AppError invalid_credential, credential_expired */
  redeem(operation: string, token: string): Caller {
    if (operation !== 'previewStream') throw InvalidCredential()
    return { userId: this.#read(token).userId, email: '', isAdmin: false, emailVerified: true, via: 'ticket' }
  }

  /**
   * The live ingest as FLV. It ends with the ingest, or with the membership, session or API key that it was opened with.
   * It does not end when the token expires.
   * @param token the credential of the request, when that is a preview token
   * @throws AppError not_found, invalid_credential, conflict, overloaded, media_unavailable
   */
  async watch(streamId: string, caller: Caller, member: Member, token: string | undefined): Promise<Readable> {
    const row = await this.#find(streamId)
    const credential =
      token === undefined
        ? credentialRefOf(caller, this.#dependencies.clock.now())
        : await this.#check(this.#read(token), row)
    const address = this.#addressOf(row)
    let source: Readable
    try {
      source = await this.#dependencies.open(address, streamId)
    } catch (error) {
      throw refusal(error)
    }
    this.#follow(source, { ...credentialIn(credential), workspaceId: member.workspaceId })
    return source
  }

  /**
   * The live ingest over WebRTC, opened with a preview token.
   * @throws AppError not_found, invalid_credential, credential_expired, conflict, overloaded, media_unavailable, no_usable_codec, bad_request
   */
  async play(streamId: string, token: string | undefined, sdp: string): Promise<OpenedPlayback> {
    const { row, viewer } = await this.#bearer(streamId, token)
    const { links, whep } = this.#dependencies
    const opened = await orUnavailable(whep.open(this.#addressOf(row), streamId, sdp))
    if (opened === undefined) throw Conflict({ message: 'The stream no longer has a publisher.' })
    if (!opened.ok) throw errorOf(opened)
    this.#follow(opened.viewing, viewer)
    return { ...opened, links: links.length === 0 ? {} : { Link: links.join(', ') } }
  }

  /** Ends a WHEP session. @throws AppError not_found, invalid_credential, credential_expired, conflict, media_unavailable */
  async stop(streamId: string, token: string | undefined, session: string): Promise<void> {
    const { row } = await this.#bearer(streamId, token)
    if (await orUnavailable(this.#dependencies.whep.end(this.#addressOf(row), streamId, session))) return
    throw NotFound({ message: 'The session does not exist or has ended.' })
  }

  close(): void {
    for (const end of this.#ends) end()
    for (const source of this.#watching.keys()) source.destroy()
  }

  #follow(source: Readable, viewer: Viewer): void {
    this.#watching.set(source, viewer)
    source.once('close', () => this.#watching.delete(source))
  }

  /** The address of the media node that has the publisher. */
  #addressOf({ ingestNode: node }: StreamRow): string {
    if (node === null) {
      throw Conflict({ message: 'The stream has no publisher. Start the encoder first.' })
    }
    const address = this.#dependencies.media.previewAddressOf(node)
    if (address === undefined) throw MediaUnavailable({ retryAfter: 2 })
    return address
  }

  async #bearer(streamId: string, token: string | undefined): Promise<{ row: StreamRow; viewer: Viewer }> {
    if (token === undefined) throw unknownToken()
    const claims = this.#read(token)
    // Checked before the stream is read, so that a token of another stream does not reveal whether this one exists.
    requireSameStream(claims, streamId)
    const row = await this.#find(streamId)
    // Without permission, the reply reveals neither the stream nor its status.
    const { workspaceId } = row
    if (!(await this.#mayWatch({ userId: claims.userId, workspaceId }))) throw NotFound()
    return { row, viewer: { ...credentialIn(await this.#check(claims, row)), workspaceId } }
  }

  #read(token: string): Claims {
    let parts: string[]
    try {
      parts = this.#dependencies.tokens.open(token).split(' ')
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error
      throw InvalidCredential()
    }
    const [userId, session, streamId, path, expires] = parts
    if (parts.length !== CLAIMS || !userId || !session || !streamId || !path) throw InvalidCredential()
    const expiresAt = Number(expires)
    if (this.#dependencies.clock.now() >= expiresAt) {
      throw CredentialExpired({ message: 'The preview token has expired. Create a new one.' })
    }
    const isKey = session.startsWith(API_KEY)
    const by = { sessionId: isKey ? null : session, apiKeyId: isKey ? session.slice(API_KEY.length) : null }
    return { userId, ...by, streamId, path, since: expiresAt - TOKEN_LIFE_MS }
  }

  async #find(streamId: string): Promise<StreamRow> {
    const row = await findStream(this.#dependencies.database, streamId)
    if (row === undefined) throw NotFound()
    return row
  }

  /** @throws AppError invalid_credential for a token of another stream or an earlier arming, or of a revoked credential */
  async #check(claims: Claims, row: StreamRow): Promise<CredentialRef> {
    requireSameStream(claims, row.id)
    if (claims.path !== row.path || row.status === 'ended') {
      throw InvalidCredential({
        message:
          'The preview token is no longer valid because the stream was stopped or armed again. Create a new one.',
      })
    }
    const [valid] = await findValidCredentials(this.#dependencies.database, [claims], this.#dependencies.clock.now())
    if (valid === undefined) {
      throw InvalidCredential({
        message: 'The preview token is no longer valid because its session or API key has ended.',
      })
    }
    return valid
  }

  /** Ends previews of viewers who lost their permission. If the database is unavailable, the next check decides. */
  async #recheck(concerns: (viewer: Viewer) => boolean = () => true): Promise<void> {
    const watching = [...this.#watching].filter(([, viewer]) => concerns(viewer))
    if (watching.length === 0) return
    try {
      const viewers = watching.map(([, viewer]) => viewer)
      const valid = new Set(
        await findValidCredentials(this.#dependencies.database, viewers, this.#dependencies.clock.now()),
      )
      for (const [source, viewer] of watching) {
        if (!valid.has(viewer) || !(await this.#mayWatch(viewer))) source.destroy()
      }
    } catch (error) {
      this.#dependencies.log.warn({ error }, 'the permissions of preview viewers could not be checked')
    }
  }

  async #mayWatch({ userId, workspaceId }: Pick<Viewer, 'userId' | 'workspaceId'>): Promise<boolean> {
    const member = await this.#dependencies.memberships.find(workspaceId, userId)
    return member?.scopes.has('streams:read') ?? false
  }
}

/** The credential of a token, without its other claims. */
function credentialIn({ apiKeyId, sessionId, since, userId }: CredentialRef): CredentialRef {
  return { userId, sessionId, apiKeyId, since }
}

/** Converts a failure of the media node to the API error. @throws AppError media_unavailable */
async function orUnavailable<T>(response: Promise<T>): Promise<T> {
  try {
    return await response
  } catch (error) {
    throw MediaUnavailable({ retryAfter: 2, cause: error })
  }
}

/** @throws AppError invalid_credential */
function requireSameStream(claims: Claims, streamId: string): void {
  if (claims.streamId !== streamId) throw InvalidCredential({ message: 'The preview token is for another stream.' })
}

function unknownToken() {
  return InvalidCredential({ message: 'Authorization must be `Bearer <preview token>`.' })
}

function errorOf({ code, message }: Extract<OpenedWhep, { ok: false }>) {
  if (code === 'malformed') return BadRequest({ message })
  if (code === 'unusable') return NoUsableCodec({ message })
  return code === 'full' ? Overloaded({ message, retryAfter: 10 }) : MediaUnavailable({ retryAfter: 2 })
}

function refusal(error: unknown) {
  const reason = (error as { reason?: unknown }).reason
  if (reason === 'gone') return Conflict({ message: 'The stream no longer has a publisher.' })
  if (reason === 'full') {
    return Overloaded({
      message: 'The preview has reached its maximum number of viewers.',
      retryAfter: 10,
      cause: error,
    })
  }
  return MediaUnavailable({ retryAfter: 2, cause: error })
}
