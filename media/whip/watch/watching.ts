import { randomBytes } from 'node:crypto'
import type { Viewers } from '../../preview/viewers.ts'
import type { MediaLog } from '../../types.ts'
import { OFFER_REFUSED, type WatchOffer } from '../child/protocol.ts'
import { completeAnswer, type Announced } from '../sdp/answer.ts'
import { filterOffer, OfferError, type FilteredOffer } from '../sdp/offer.ts'
import type { WhipProcess } from '../whip-process.ts'
import { OpusSound } from './opus-sound.ts'
import { isShowable, PictureFeed } from './picture-feed.ts'

export interface WatchingOptions {
  readonly process: WhipProcess
  readonly announced: Announced | null
  /** Path of ffmpeg; undefined where there is none: then there is no sound. */
  readonly ffmpeg: string | undefined
  readonly log: MediaLog
}

export type WatchReply =
  /** `feed` closes when it is over; destroying it ends it. */
  | { readonly ok: true; readonly session: string; readonly sdp: string; readonly feed: PictureFeed }
  | { readonly ok: false; readonly code: 'malformed' | 'unusable' | 'full' | 'unavailable'; readonly message: string }

/** A session that is to be opened. */
interface Opening {
  readonly streamId: string
  readonly viewers: Viewers
  /** The viewers of the stream at the moment of asking; undefined when it is gone. */
  readonly current: () => Viewers | undefined
  readonly offer: FilteredOffer
  readonly asked: WatchOffer
}

const ANSWER_MS = 10_000
/** Beyond those who watch: such as have not connected yet. */
const MOST_SESSIONS = 256
const NOT_SHOWABLE =
  'The stream cannot be watched over WebRTC: its pictures are not H.264, or refer to later ones (B-frames). Watch it as FLV.'
const FAILED: WatchReply = { ok: false, code: 'unavailable', message: 'The session could not be opened; try again.' }

/** Those who watch previews over WebRTC (WHEP). They count as viewers of the stream like all others. */
export class Watching {
  readonly #options: WatchingOptions
  readonly #feeds = new Map<string, PictureFeed>()
  readonly #sounds = new WeakMap<Viewers, OpusSound>()

  constructor(options: WatchingOptions) {
    this.#options = options
  }

  /** Answers an offer. Never rejects. @param current the viewers of that stream when they are asked for: it may be gone by then */
  async open(streamId: string, current: () => Viewers | undefined, sdp: string): Promise<WatchReply> {
    const viewers = current()
    if (viewers === undefined) return FAILED
    let offer: FilteredOffer
    let asked: WatchOffer
    try {
      offer = filterOffer(sdp, 'watch')
      asked = watchOffer(offer)
    } catch (error) {
      if (error instanceof OfferError) return { ok: false, code: error.code, message: error.message }
      throw error
    }
    const preview = viewers.preview()
    if (preview.some(({ kind, payload }) => kind === 'video' && payload.length >= 5 && !isShowable(payload))) {
      return { ok: false, code: 'unusable', message: NOT_SHOWABLE }
    }
    if (viewers.isFull || this.#feeds.size >= MOST_SESSIONS) {
      return { ok: false, code: 'full', message: 'Enough people are watching.' }
    }
    return this.#begin({ streamId, viewers, current, offer, asked })
  }

  /** @returns whether there was such a session */
  end(session: string): boolean {
    const feed = this.#feeds.get(session)
    feed?.destroy()
    return feed !== undefined
  }

  close(): void {
    for (const feed of this.#feeds.values()) feed.destroy()
  }

  #begin({ asked, current, offer, streamId, viewers }: Opening): Promise<WatchReply> {
    const { announced, process } = this.#options
    const session = randomBytes(16).toString('hex')
    const { promise, resolve } = Promise.withResolvers<WatchReply>()
    const feed = new PictureFeed((timestamp, data, sent) =>
      process.show(session, { kind: 'video', timestamp, data }, sent),
    )
    let endSound = (): void => {}
    const timer = setTimeout(() => feed.destroy(), ANSWER_MS)
    this.#feeds.set(session, feed)
    feed.once('close', () => {
      clearTimeout(timer)
      this.#feeds.delete(session)
      process.close(session)
      endSound()
      resolve(FAILED)
    })
    process.watch(session, asked, {
      streamId,
      onAnswer: (sdp) => {
        clearTimeout(timer)
        resolve({ ok: true, session, sdp: completeAnswer(sdp, offer, announced), feed })
      },
      onConnected: () => {
        if (current() !== viewers || viewers.isFull) {
          feed.destroy()
          return
        }
        viewers.add(feed)
        if (offer.audio !== null) endSound = this.#listen(viewers, session)
      },
      onEnd: (reason) => {
        if (reason === OFFER_REFUSED) {
          resolve({ ok: false, code: 'malformed', message: 'The offer cannot be answered: it is damaged.' })
        }
        feed.destroy()
      },
    })
    return promise
  }

  #listen(viewers: Viewers, session: string): () => void {
    const { ffmpeg, log, process } = this.#options
    if (ffmpeg === undefined) return () => {}
    const sound = this.#sounds.get(viewers) ?? new OpusSound(ffmpeg, log)
    this.#sounds.set(viewers, sound)
    if (!sound.isHeard) {
      // Of what was, only the configuration: sound that is over is not made up for.
      sound.write({ messages: viewers.preview().filter(({ isHeader }) => isHeader) })
      viewers.attach(sound)
    }
    const end = sound.listen((data) => process.show(session, { kind: 'audio', data }))
    return () => {
      end()
      if (!sound.isHeard) viewers.detach(sound)
    }
  }
}

/** @throws OfferError */
function watchOffer({ audio, media, sdp, video }: FilteredOffer): WatchOffer {
  if (video?.name !== 'h264') throw new OfferError('unusable', 'The offer takes no H.264 (packetization mode 1).')
  const tracks = ([video, audio] as const).flatMap((codec) => {
    if (codec === null) return []
    const mid = media.find((medium) => medium.codec === codec)?.mid
    if (mid === undefined) throw new OfferError('malformed', 'A medium of the offer has no name (a=mid).')
    const kind = codec === audio ? ('audio' as const) : ('video' as const)
    return [{ kind, mid, payloadType: codec.payloadType }]
  })
  return { sdp, tracks }
}
