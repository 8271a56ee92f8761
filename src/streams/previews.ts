import type { Readable } from 'node:stream'
import type { Caller, Member } from '../core/caller.ts'
import { MINUTE, type Clock } from '../core/clock.ts'
import { Conflict, CredentialExpired, InvalidCredential, NotFound, Overloaded } from '../core/errors.ts'
import type { Tickets } from '../core/ports.ts'
import { UnsealError, type SealedBox } from '../core/sealed-box.ts'
import type { Sql } from '../core/sql.ts'
import type { MemberCache } from '../workspaces/memberships.ts'
import { MediaUnavailable } from './errors.ts'
import type { MediaDirectory } from './media-directory.ts'
import type { PreviewTokenData } from './schemas.ts'
import { findStream, type StreamRow } from './store.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly previews: Previews
  }
}

/**
 * Opens a stream's FLV at the media node of this address (`host:port`). A rejection says in `reason` whether the node
 * has no such stream (`gone`), has viewers enough (`full`), or does not answer.
 */
export type OpenPreview = (address: string, streamId: string) => Promise<Readable>

export interface PreviewsOptions {
  readonly sql: Sql
  readonly clock: Clock
  /** Seals tokens. */
  readonly tokens: SealedBox
  readonly media: MediaDirectory
  readonly memberships: MemberCache
  readonly open: OpenPreview
  readonly publicUrl: string
}

/** What a token says. */
interface Claims {
  readonly userId: string
  readonly streamId: string
  /** Public part of the ingest key of that time: a stream that was stopped and armed again has another one. */
  readonly path: string
  readonly expiresAt: number
}

const TOKEN_LIFE_MS = 10 * MINUTE
const CLAIMS = 4

/** Watching what a stream takes in, and the tokens that let a browser do so. */
export class Previews implements Tickets {
  readonly #options: PreviewsOptions
  /** Who watches through this node, by workspace. */
  readonly #watching = new Map<string, Map<Readable, string>>()
  readonly #endListening: () => void

  constructor(options: PreviewsOptions) {
    this.#options = options
    this.#endListening = options.memberships.onChange((workspaceId) => {
      for (const id of workspaceId === undefined ? this.#watching.keys() : [workspaceId]) void this.#recheck(id)
    })
  }

  /** @throws AppError not_found; conflict for a stream that has ended */
  async createToken(streamId: string, caller: Caller): Promise<PreviewTokenData> {
    const { clock, publicUrl, tokens } = this.#options
    const row = await this.#find(streamId)
    if (row.status === 'ended') throw Conflict({ message: 'The stream has ended: arm it before it can be watched.' })
    const expiresAt = clock.now() + TOKEN_LIFE_MS
    const token = tokens.seal([caller.userId, streamId, row.path, expiresAt].join(' '))
    const pageUrl = `${publicUrl}/preview/${streamId}?token=${token}`
    return { token, expiresAt: new Date(expiresAt).toISOString(), pageUrl }
  }

  /** @throws AppError invalid_credential, credential_expired */
  redeem(operation: string, token: string): Caller {
    if (operation !== 'previewStream') throw InvalidCredential()
    return { userId: this.#read(token).userId, email: '', isAdmin: false, via: 'ticket' }
  }

  /**
   * The live ingest as FLV, until it or the right to see it ends.
   * @param token the credential of the request, when that is a preview token
   * @throws AppError not_found, invalid_credential, conflict, overloaded, media_unavailable
   */
  async watch(streamId: string, member: Member, token: string | undefined): Promise<Readable> {
    const row = await this.#find(streamId)
    if (token !== undefined) checkScope(this.#read(token), row)
    if (row.ingest_node === null) {
      throw Conflict({ message: 'Nothing is being ingested: there is nothing to see before the encoder sends.' })
    }
    const { media, open } = this.#options
    const address = media.previewAddressOf(row.ingest_node)
    if (address === undefined) throw MediaUnavailable({ retryAfter: 2 })
    let source: Readable
    try {
      source = await open(address, streamId)
    } catch (error) {
      throw refusal(error)
    }
    this.#note(source, member)
    return source
  }

  close(): void {
    this.#endListening()
    for (const watching of this.#watching.values()) for (const source of watching.keys()) source.destroy()
  }

  #read(token: string): Claims {
    let parts: string[]
    try {
      parts = this.#options.tokens.open(token).split(' ')
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error
      throw InvalidCredential()
    }
    const [userId, streamId, path, expires] = parts
    if (parts.length !== CLAIMS || !userId || !streamId || !path) throw InvalidCredential()
    const expiresAt = Number(expires)
    if (this.#options.clock.now() >= expiresAt) {
      throw CredentialExpired({ message: 'The preview token has expired: ask for a new one.' })
    }
    return { userId, streamId, path, expiresAt }
  }

  async #find(streamId: string): Promise<StreamRow> {
    const row = await findStream(this.#options.sql, streamId)
    if (row === undefined) throw NotFound()
    return row
  }

  #note(source: Readable, { userId, workspaceId }: Member): void {
    const watching = this.#watching.get(workspaceId) ?? new Map<Readable, string>()
    this.#watching.set(workspaceId, watching.set(source, userId))
    source.once('close', () => {
      watching.delete(source)
      if (watching.size === 0 && this.#watching.get(workspaceId) === watching) this.#watching.delete(workspaceId)
    })
  }

  /** Ends what people see who may not any more. */
  async #recheck(workspaceId: string): Promise<void> {
    for (const [source, userId] of this.#watching.get(workspaceId) ?? []) {
      const member = await this.#member(workspaceId, userId)
      if (!member?.scopes.has('streams:read')) source.destroy()
    }
  }

  /** What cannot be read now is not taken for granted. */
  async #member(workspaceId: string, userId: string): Promise<Member | undefined> {
    try {
      return await this.#options.memberships.find(workspaceId, userId)
    } catch {
      return undefined
    }
  }
}

function checkScope(claims: Claims, row: StreamRow): void {
  if (claims.streamId !== row.id) throw InvalidCredential({ message: 'The preview token is for another stream.' })
  if (claims.path !== row.path || row.status === 'ended') {
    throw InvalidCredential({ message: 'The preview token ended with the broadcast: ask for a new one.' })
  }
}

function refusal(error: unknown) {
  const reason = (error as { reason?: unknown }).reason
  if (reason === 'gone') return Conflict({ message: 'Nothing is being ingested any more.' })
  if (reason === 'full') {
    return Overloaded({ message: 'Enough people are watching this preview already.', retryAfter: 10, cause: error })
  }
  return MediaUnavailable({ retryAfter: 2, cause: error })
}
