import { randomBytes } from 'node:crypto'
import { authorize } from '../ingest/authorize.ts'
import { DEFAULT_INGEST_LIMITS, type IngestLimits } from '../ingest/limits.ts'
import type { Publisher } from '../ingest/publisher.ts'
import { listenError } from '../listen.ts'
import { logWith } from '../log.ts'
import type { Viewers } from '../preview/viewers.ts'
import type { VideoSize } from '../rtmp/sps.ts'
import { TallyLog } from '../../src/tools/tally-log.ts'
import type { MediaLog, MediaNodeOptions, WhipReply, WhipRequest, WhipSessionStatus, WhipSettings } from '../types.ts'
import { completeAnswer, fragmentUfrag, isFragment, type AnnouncedAddress } from './sdp/answer.ts'
import { filterOffer, OfferError, type FilteredOffer } from './sdp/offer.ts'
import { OFFER_REFUSED } from './child/protocol.ts'
import { checkPort } from './udp-port.ts'
import { WhepSessions, type WhepReply } from './whep/whep-sessions.ts'
import { WhipProcess, type LostSessions } from './whip-process.ts'
import { WhipSession } from './whip-session.ts'
import { isSame } from '../../src/tools/keys.ts'

export interface WhipIngestOptions {
  readonly settings: WhipSettings
  readonly authorizePublish: MediaNodeOptions['authorizePublish']
  /** Called when a client has connected. */
  readonly onPublisher: (publisher: Publisher) => void
  /** Monotonic milliseconds of the last frame from the stream's primary publisher; null without a publisher. */
  readonly lastFrameAt: (streamId: string) => number | null
  /** The size of the video that the stream's destinations have received; null if they have received none. */
  readonly videoSize: (streamId: string) => VideoSize | null
  /** Sessions of a stream ended because the WHIP process ended. */
  readonly onLost: (lost: LostSessions) => void
  readonly limits?: Partial<IngestLimits> | undefined
  readonly log: MediaLog
}

export interface WhipIngest {
  /** The UDP port. */
  readonly port: number
  /** Sessions that are connected or connecting. */
  sessions(): WhipSessionStatus[]
  /** Never rejects. An error is in the reply. */
  request(request: WhipRequest): Promise<WhipReply>
  /**
   * Opens a WHEP session. Never rejects.
   * @param viewersOf returns the stream's viewers; undefined once the stream is removed
   */
  openWhep(streamId: string, viewersOf: () => Viewers | undefined, sdp: string): Promise<WhepReply>
  /** Ends a WHEP session. @returns whether it existed */
  endWhep(session: string): boolean
  /** Process id of the WHIP process; undefined while it is not running. */
  pid(): number | undefined
  close(): Promise<void>
}

type Offer = Extract<WhipRequest, { type: 'offer' }>
type SessionRequest = Exclude<WhipRequest, Offer>

/** Time limit for the answer, including the start of the WHIP process. */
const ANSWER_TIMEOUT_MS = 10_000
/** A publisher that has sent nothing for this long can be replaced. */
const BUSY_MS = 2_000
const MAX_SESSIONS = 64

/** Starts the WHIP ingest (RFC 9725). Rejects if the UDP port cannot be bound. */
export async function startWhipIngest(options: WhipIngestOptions): Promise<WhipIngest> {
  const { host, orFree = false, port } = options.settings
  try {
    return new Ingest(options, await checkPort(host, port))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' && orFree) return new Ingest(options, await checkPort(host, 0))
    const settings = { port: 'WHIP_PORT', host: 'RTMP_HOST' }
    const { message } = listenError(error, { host, port, settings })
    throw new Error(`UDP: ${message}`, { cause: error })
  }
}

class Ingest implements WhipIngest {
  readonly port: number
  readonly #options: WhipIngestOptions
  readonly #process: WhipProcess
  readonly #announced: AnnouncedAddress | null
  readonly #sessions = new Map<string, WhipSession>()
  readonly #whep: WhepSessions
  readonly #tally: TallyLog

  constructor(options: WhipIngestOptions, port: number) {
    const { announced, host } = options.settings
    this.port = port
    this.#tally = new TallyLog(options.log)
    this.#options = options
    this.#process = new WhipProcess({ host, port }, options.log, options.onLost)
    this.#announced = announced === undefined ? null : { port, ...announced }
    this.#whep = new WhepSessions({
      process: this.#process,
      announced: this.#announced,
      ffmpeg: options.settings.ffmpeg?.path,
      log: options.log,
    })
  }

  sessions(): WhipSessionStatus[] {
    return [...this.#sessions.values()].map(({ publisher, streamId, tracks }) => ({
      streamId,
      connected: publisher !== null,
      tracks,
    }))
  }

  pid(): number | undefined {
    return this.#process.pid
  }

  openWhep(streamId: string, viewersOf: () => Viewers | undefined, sdp: string): Promise<WhepReply> {
    return this.#whep.open(streamId, viewersOf, sdp)
  }

  endWhep(session: string): boolean {
    return this.#whep.end(session)
  }

  async request(request: WhipRequest): Promise<WhipReply> {
    return request.type === 'offer' ? this.#offer(request) : this.#handleSession(request)
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) session.drop('shutdown')
    this.#whep.close()
    this.#tally.flush()
    await this.#process.stop()
  }

  async #offer(request: Offer): Promise<WhipReply> {
    const { keyHash, path, remoteAddress, sdp } = request
    const { authorizePublish, limits, log } = this.#options
    const timeoutMs = limits?.authorizeTimeoutMs ?? DEFAULT_INGEST_LIMITS.authorizeTimeoutMs
    let failed = false
    const decision = await authorize(
      authorizePublish,
      { path, keyHash, remoteAddress, via: 'whip' },
      timeoutMs,
      (error) => {
        failed = true
        const fields = { path, remoteAddress }
        this.#tally.add({ level: 'warn', message: 'publisher could not be checked', reason: error.message, fields })
      },
    )
    if (!decision.allowed) {
      const code = failed ? 'unavailable' : decision.later ? 'refused' : 'unauthorized'
      return { ok: false, code, message: decision.reason }
    }
    let offer: FilteredOffer
    try {
      offer = filterOffer(sdp)
    } catch (error) {
      if (error instanceof OfferError) return { ok: false, code: error.code, message: error.message }
      throw error
    }
    const needsFfmpeg = offer.audio !== null || offer.video?.name === 'vp8' || request.normalise
    if (needsFfmpeg && this.#options.settings.ffmpeg === undefined) {
      return { ok: false, code: 'no_ffmpeg', message: 'This node has no ffmpeg to transcode the stream.' }
    }
    const { stream } = decision
    if (this.#isBusy(stream.streamId)) {
      return { ok: false, code: 'busy', message: 'Another publisher is already sending to this stream.' }
    }
    this.#dropPrevious(stream.streamId)
    if (this.#sessions.size >= MAX_SESSIONS) {
      return { ok: false, code: 'full', message: `This node has reached its limit of ${MAX_SESSIONS} WHIP sessions.` }
    }
    const session = new WhipSession({
      sessionId: randomBytes(16).toString('hex'),
      path,
      keyHash,
      remoteAddress,
      stream,
      offer,
      normalise: request.normalise,
      ffmpeg: this.#options.settings.ffmpeg ?? null,
      doctor: limits?.doctor ?? DEFAULT_INGEST_LIMITS.doctor,
      log: logWith(log, { path, streamId: stream.streamId }),
      closeConnection: () => this.#process.close(session.sessionId),
      onEnded: () => this.#sessions.delete(session.sessionId),
    })
    return this.#open(session, offer)
  }

  /** Whether a publisher is sending. A silent publisher can be replaced, as with RTMP. */
  #isBusy(streamId: string): boolean {
    const lastFrameAt = this.#options.lastFrameAt(streamId)
    return lastFrameAt !== null && performance.now() - lastFrameAt < BUSY_MS
  }

  /** Drops the stream's other sessions: a client may reconnect before the end of its last session is detected. */
  #dropPrevious(streamId: string): void {
    for (const session of this.#sessions.values()) if (session.streamId === streamId) session.drop('replaced')
  }

  async #open(session: WhipSession, offer: FilteredOffer): Promise<WhipReply> {
    const { etag, sessionId } = session
    const answer = Promise.withResolvers<WhipReply>()
    const timer = setTimeout(() => session.drop('no answer in time'), ANSWER_TIMEOUT_MS)
    this.#sessions.set(sessionId, session)
    this.#process.publish(
      sessionId,
      { sdp: offer.sdp, video: offer.video, audio: offer.audio, routing: offer.routing },
      {
        streamId: session.streamId,
        onAnswer: (sdp) => {
          answer.resolve({ ok: true, session: sessionId, etag, sdp: completeAnswer(sdp, offer, this.#announced) })
        },
        onConnected: () => this.#connected(session),
        onMedia: (media) => session.receive(media),
        onReception: (tracks) => (session.tracks = tracks),
        onEnd: (reason) => {
          if (reason === OFFER_REFUSED) {
            answer.resolve({ ok: false, code: 'malformed', message: 'The SDP offer is invalid.' })
          }
          void session.finish(reason)
        },
      },
    )
    session.onEndBeforeAnswer = () =>
      answer.resolve({ ok: false, code: 'unavailable', message: 'The session could not be opened. Try again.' })
    try {
      return await answer.promise
    } finally {
      clearTimeout(timer)
    }
  }

  #connected(session: WhipSession): void {
    const { log, onPublisher, videoSize } = this.#options
    const publisher = session.connect(videoSize(session.streamId))
    log.info(
      {
        sessionId: session.sessionId,
        path: session.path,
        streamId: session.streamId,
        remoteAddress: publisher.remoteAddress,
      },
      'publisher admitted',
    )
    onPublisher(publisher)
  }

  async #handleSession(request: SessionRequest): Promise<WhipReply> {
    const session = this.#sessions.get(request.session)
    if (session === undefined || session.path !== request.path) {
      return { ok: false, code: 'not_found', message: 'The session does not exist, or it has ended.' }
    }
    if (!isSame(session.keyHash, request.keyHash)) {
      return { ok: false, code: 'unauthorized', message: 'The token does not belong to the session.' }
    }
    if (request.type === 'delete') {
      // Replies only after the publisher has ended, so that a client can delete its session and open a new one.
      await session.finish('unpublished')
      return { ok: true }
    }
    if (!isFragment(request.fragment)) {
      return { ok: false, code: 'malformed', message: 'The body is not an SDP fragment.' }
    }
    const ufrag = fragmentUfrag(request.fragment)
    if (ufrag !== undefined && ufrag !== session.ufrag) {
      return { ok: false, code: 'restart', message: 'ICE restarts are not supported. Open a new session.' }
    }
    if (request.ifMatch !== undefined && !request.ifMatch.includes(session.etag)) {
      return { ok: false, code: 'changed', message: 'The ETag does not match the session.' }
    }
    // Candidates are ignored: the client's own connectivity checks reveal its address.
    return { ok: true }
  }
}
