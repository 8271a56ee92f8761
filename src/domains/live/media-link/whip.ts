import type { IfMatch } from '../../../core/precondition.ts'
import type { WhipReply, WhipRequest } from '../../../../media/types.ts'
import {
  BadRequest,
  Conflict,
  Forbidden,
  InvalidCredential,
  NotFound,
  Overloaded,
  PreconditionFailed,
} from '../../../core/errors.ts'
import { FfmpegMissing } from '../../../content/errors.ts'
import { sha256 } from '../../../tools/id.ts'
import type { MediaCalls } from '../../../foundation.ts'
import { UNKNOWN_KEY, type DesiredStates } from './desired-states.ts'
import { IceRestartUnsupported, type MediaDirectory, MediaUnavailable, NoUsableCodec } from '../media-nodes/index.ts'

/** The media process of this node. A rejection means that it does not answer. */
export interface WhipNode {
  whip(request: WhipRequest): Promise<WhipReply>
}

/** The credentials of a client: the path in the URL and the bearer token. */
export interface WhipCredential {
  readonly path: string
  readonly token: string | undefined
}

export interface WhipOffer {
  readonly sdp: string
  readonly normalise: boolean
  readonly remoteAddress: string
}

export interface OpenedWhip {
  readonly session: string
  readonly etag: string
  readonly sdp: string
  /** The `Link` header. */
  readonly links: Readonly<Record<string, string>>
}

type Refusal = Extract<WhipReply, { ok: false }>

/** Refusals after which another node is asked. */
const ELSEWHERE: ReadonlySet<Refusal['code']> = new Set(['unavailable', 'no_ffmpeg'])

/** Forwards WHIP clients to a media node. Nodes get only hashes of tokens. */
export class WhipService {
  readonly #desired: DesiredStates
  readonly #directory: MediaDirectory
  readonly #media: Pick<MediaCalls, 'askWhip' | 'iceLinks'>
  #local: { readonly node: WhipNode; readonly nodeId: string } | undefined

  constructor(desired: DesiredStates, directory: MediaDirectory, media: Pick<MediaCalls, 'askWhip' | 'iceLinks'>) {
    this.#desired = desired
    this.#directory = directory
    this.#media = media
  }

  /** Sets the media process of this node, which is asked first. */
  attach(node: WhipNode, nodeId: string): void {
    this.#local = { node, nodeId }
  }

  /** @throws AppError invalid_credential, forbidden, conflict, bad_request, no_usable_codec, overloaded, media_unavailable, ffmpeg_missing */
  async publish(credential: WhipCredential, { normalise, remoteAddress, sdp }: WhipOffer): Promise<OpenedWhip> {
    const who = await this.#check(credential, remoteAddress)
    const reply = await this.#first({ type: 'offer', ...who, remoteAddress, sdp, normalise })
    if (!reply.ok) throw errorOf(reply)
    if (reply.session === undefined) throw MediaUnavailable({ retryAfter: 2 })
    const { iceLinks: links } = this.#media
    return { ...reply, links: links.length === 0 ? {} : { Link: links.join(', ') } }
  }

  /** @throws AppError invalid_credential, not_found, precondition_failed, ice_restart_unsupported, media_unavailable */
  async trickle(credential: WhipCredential, session: string, fragment: string, ifMatch: IfMatch): Promise<void> {
    await this.#follow({ type: 'trickle', ...hashed(credential), session, fragment, ifMatch })
  }

  /** @throws AppError invalid_credential, not_found, media_unavailable */
  async end(credential: WhipCredential, session: string): Promise<void> {
    await this.#follow({ type: 'delete', ...hashed(credential), session })
  }

  /** Checks the credentials before a media node is asked. */
  async #check(credential: WhipCredential, remoteAddress: string) {
    const who = hashed(credential)
    const decision = await this.#desired.authorize({ ...who, remoteAddress, via: 'whip' })
    if (decision.allowed) return who
    if (decision.reason === UNKNOWN_KEY) throw unknownToken()
    const message = capitalized(decision.reason)
    throw decision.later ? Forbidden({ message }) : InvalidCredential({ message })
  }

  async #first(request: WhipRequest): Promise<WhipReply> {
    let lacksFfmpeg = false
    for (const ask of this.#nodes()) {
      const reply = await answered(ask, request)
      if (reply !== undefined && (reply.ok || !ELSEWHERE.has(reply.code))) return reply
      lacksFfmpeg ||= reply?.ok === false && reply.code === 'no_ffmpeg'
    }
    throw lacksFfmpeg ? FfmpegMissing() : MediaUnavailable({ retryAfter: 2 })
  }

  /** Asks all nodes until the one with the session answers. */
  async #follow(request: Exclude<WhipRequest, { type: 'offer' }>): Promise<void> {
    // Nodes no longer know the token of an ended session, but the database does.
    const { path, keyHash } = request
    if (!(await this.#desired.isWhipToken(path, keyHash))) throw unknownToken()
    let missing = false
    for (const ask of this.#nodes()) {
      const reply = await answered(ask, request)
      if (reply === undefined) missing = true
      else if (reply.ok) return
      else if (reply.code !== 'not_found') throw errorOf(reply)
    }
    // A node that does not answer can be the one with the session.
    throw missing
      ? MediaUnavailable({ retryAfter: 2 })
      : NotFound({ message: 'There is no such session; it may have ended.' })
  }

  /** This node first, then the others that accept WHIP publishers. */
  #nodes(): WhipNode['whip'][] {
    const { askWhip } = this.#media
    const local = this.#local
    const others = this.#directory
      .whipAddresses(local?.nodeId)
      .map((address) => (request: WhipRequest) => askWhip(address, request))
    return local === undefined ? others : [(request) => local.node.whip(request), ...others]
  }
}

async function answered(ask: WhipNode['whip'], request: WhipRequest): Promise<WhipReply | undefined> {
  try {
    return await ask(request)
  } catch {
    return undefined
  }
}

function hashed({ path, token }: WhipCredential): { path: string; keyHash: string } {
  if (token === undefined) throw unknownToken()
  return { path, keyHash: sha256(token) }
}

function unknownToken() {
  return InvalidCredential({
    message:
      'Authorization must be `Bearer <whipToken>` with the token of the last arming. It ends when the stream stops.',
  })
}

function errorOf({ code, message }: Refusal) {
  switch (code) {
    case 'unauthorized':
      return unknownToken()
    case 'refused':
      return Forbidden({ message: capitalized(message) })
    case 'busy':
      return Conflict({ message, retryAfter: 2 })
    case 'full':
      return Overloaded({ message, retryAfter: 10 })
    case 'malformed':
      return BadRequest({ message })
    case 'unusable':
      return NoUsableCodec({ message })
    case 'not_found':
      return NotFound({ message })
    case 'changed':
      return PreconditionFailed({ message })
    case 'restart':
      return IceRestartUnsupported()
    default:
      return MediaUnavailable({ retryAfter: 2 })
  }
}

function capitalized(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`
}
