import { randomBytes } from 'node:crypto'
import type { Viewers } from '../../preview/viewers.ts'
import type { MediaLog } from '../../types.ts'
import { OFFER_REFUSED, type WhepOffer } from '../child/protocol.ts'
import { completeAnswer, type AnnouncedAddress } from '../sdp/answer.ts'
import { filterOffer, OfferError, type FilteredOffer } from '../sdp/offer.ts'
import type { WhipProcess } from '../whip-process.ts'
import { OpusEncoder } from './opus-encoder.ts'
import { isPlayable, H264Feed } from './h264-feed.ts'

export interface WhepSessionsOptions {
  readonly process: WhipProcess
  readonly announced: AnnouncedAddress | null
  /** Path of ffmpeg; undefined if the node has none. Then viewers get no audio. */
  readonly ffmpeg: string | undefined
  readonly log: MediaLog
}

export type WhepReply =
  /** `feed` closes when the session ends. Destroying it ends the session. */
  | { readonly ok: true; readonly session: string; readonly sdp: string; readonly feed: H264Feed }
  | { readonly ok: false; readonly code: 'malformed' | 'unusable' | 'full' | 'unavailable'; readonly message: string }

/** A session that is being opened. */
interface OpeningSession {
  readonly streamId: string
  readonly viewers: Viewers
  /** Returns the stream's current viewers; undefined once the stream is removed. */
  readonly viewersOf: () => Viewers | undefined
  readonly offer: FilteredOffer
  readonly whepOffer: WhepOffer
}

const ANSWER_TIMEOUT_MS = 10_000
/** Includes sessions that have not connected yet. Only connected ones count as viewers. */
const MAX_SESSIONS = 256
const NOT_PLAYABLE = 'The stream cannot be played over WebRTC because it is not H.264 or has B-frames. Play it as FLV.'
const FAILED: WhepReply = { ok: false, code: 'unavailable', message: 'The session could not be opened. Try again.' }

/** The sessions of WebRTC viewers (WHEP). Like viewers by FLV they count towards the viewer limit of their stream. */
export class WhepSessions {
  readonly #options: WhepSessionsOptions
  readonly #feeds = new Map<string, H264Feed>()
  readonly #audioEncoders = new WeakMap<Viewers, OpusEncoder>()

  constructor(options: WhepSessionsOptions) {
    this.#options = options
  }

  /**
   * Answers an offer. Never rejects.
   * @param viewersOf returns the stream's viewers; undefined once the stream is removed
   */
  async open(streamId: string, viewersOf: () => Viewers | undefined, sdp: string): Promise<WhepReply> {
    const viewers = viewersOf()
    if (viewers === undefined) return FAILED
    let offer: FilteredOffer
    let reduced: WhepOffer
    try {
      offer = filterOffer(sdp, 'watch')
      reduced = whepOffer(offer)
    } catch (error) {
      if (error instanceof OfferError) return { ok: false, code: error.code, message: error.message }
      throw error
    }
    if (viewers.replay().some(({ kind, payload }) => kind === 'video' && payload.length >= 5 && !isPlayable(payload))) {
      return { ok: false, code: 'unusable', message: NOT_PLAYABLE }
    }
    if (viewers.isFull || this.#feeds.size >= MAX_SESSIONS) {
      return { ok: false, code: 'full', message: 'The viewer limit is reached.' }
    }
    return this.#open({ streamId, viewers, viewersOf, offer, whepOffer: reduced })
  }

  /** Ends a session. @returns whether it existed */
  end(session: string): boolean {
    const feed = this.#feeds.get(session)
    feed?.destroy()
    return feed !== undefined
  }

  close(): void {
    for (const feed of this.#feeds.values()) feed.destroy()
  }

  #open({ offer, streamId, viewers, viewersOf, whepOffer: reduced }: OpeningSession): Promise<WhepReply> {
    const { announced, process } = this.#options
    const session = randomBytes(16).toString('hex')
    const { promise, resolve } = Promise.withResolvers<WhepReply>()
    const feed = new H264Feed((timestamp, data, sent) =>
      process.sendFrame(session, { kind: 'video', timestamp, data }, sent),
    )
    let endAudio = (): void => {}
    const timer = setTimeout(() => feed.destroy(), ANSWER_TIMEOUT_MS)
    this.#feeds.set(session, feed)
    feed.once('close', () => {
      clearTimeout(timer)
      this.#feeds.delete(session)
      process.close(session)
      endAudio()
      resolve(FAILED)
    })
    process.watch(session, reduced, {
      streamId,
      onAnswer: (sdp) => {
        clearTimeout(timer)
        resolve({ ok: true, session, sdp: completeAnswer(sdp, offer, announced), feed })
      },
      onConnected: () => {
        if (viewersOf() !== viewers || viewers.isFull) {
          feed.destroy()
          return
        }
        viewers.add(feed)
        if (offer.audio !== null) endAudio = this.#startAudio(viewers, session)
      },
      onEnd: (reason) => {
        if (reason === OFFER_REFUSED) {
          resolve({ ok: false, code: 'malformed', message: 'The SDP offer is invalid.' })
        }
        feed.destroy()
      },
    })
    return promise
  }

  /** Sends the stream's audio to a session. @returns a function that ends it */
  #startAudio(viewers: Viewers, session: string): () => void {
    const { ffmpeg, log, process } = this.#options
    if (ffmpeg === undefined) return () => {}
    const encoder = this.#audioEncoders.get(viewers) ?? new OpusEncoder(ffmpeg, log)
    this.#audioEncoders.set(viewers, encoder)
    if (!encoder.hasListeners) {
      // Only the decoder configuration: audio of the past is not played.
      encoder.write({ messages: viewers.replay().filter(({ isSequenceHeader }) => isSequenceHeader) })
      viewers.attach(encoder)
    }
    const stopListening = encoder.listen((data) => process.sendFrame(session, { kind: 'audio', data }))
    return () => {
      stopListening()
      if (!encoder.hasListeners) viewers.detach(encoder)
    }
  }
}

/** @throws OfferError */
function whepOffer({ audio, media, sdp, video }: FilteredOffer): WhepOffer {
  if (video?.name !== 'h264')
    throw new OfferError('unusable', 'The offer does not include H.264. Only H.264 can be played over WebRTC.')
  const tracks = ([video, audio] as const).flatMap((codec) => {
    if (codec === null) return []
    const mid = media.find((medium) => medium.codec === codec)?.mid
    if (mid === undefined) throw new OfferError('malformed', 'A media section of the offer has no valid MID (a=mid).')
    const kind = codec === audio ? ('audio' as const) : ('video' as const)
    return [{ kind, mid, payloadType: codec.payloadType }]
  })
  return { sdp, tracks }
}
