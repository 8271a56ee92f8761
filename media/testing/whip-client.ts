import { Audio, PeerConnection, Video, type Track } from 'node-datachannel'
import { offerOf } from './sdp-offer.ts'
import { h264Payloads, rtpPacket, senderReport, type RtpTrack } from './rtp-writer.ts'
import type { WhipMedia } from './whip-media.ts'

const VIDEO_TYPE = 96
const RTX_TYPE = 97
const AUDIO_TYPE = 111
/** Milliseconds from 1900 to 1970. */
const NTP_EPOCH_MS = 2_208_988_800_000
const PACKETS_KEPT = 2_000
const REPORT_MS = 250
/** The media clock advances by at most this much per timer event. */
const MAX_STEP_MS = 100

export interface WhipClientOptions {
  readonly media: WhipMedia
  readonly audio?: boolean
  readonly video?: boolean
  /** Offers video, but sends none. */
  readonly withholdsVideo?: boolean
  /** The offer has no `a=ssrc`. */
  readonly anonymous?: boolean
  /** Local address. */
  readonly host?: string
  /** First sequence number of video. */
  readonly firstSequence?: number
  /** Called after each frame was sent; `at` is in monotonic milliseconds. */
  readonly onFrame?: (nals: readonly Buffer[], at: number) => void
}

/** A WHIP client without a browser. It makes the RTP packets itself and answers NACKs with retransmissions. */
export class WhipClient {
  readonly #options: WhipClientOptions
  #media: WhipMedia
  readonly #connection: PeerConnection
  readonly #videoTrack: Track | null = null
  readonly #audioTrack: Track | null = null
  readonly #video: RtpTrack
  readonly #rtx: RtpTrack = { ssrc: 1_002, payloadType: RTX_TYPE, sequence: 7 }
  readonly #audio: RtpTrack = { ssrc: 1_003, payloadType: AUDIO_TYPE, sequence: 60_000 }
  readonly #sent = new Map<number, Buffer>()
  #timer: NodeJS.Timeout | undefined
  #startedAt = 0
  #steppedAt = 0
  #frames = 0
  #audioPackets = 0
  #reportedAt = 0
  #wantsKeyframe = false
  state = 'new'
  keyframeRequests = 0
  retransmissions = 0
  /** RTCP packet types that the server sent. */
  readonly feedback: number[] = []
  /** When each frame was sent, in monotonic milliseconds. */
  readonly sentAt: number[] = []

  constructor(options: WhipClientOptions) {
    this.#options = options
    this.#media = options.media
    this.#video = { ssrc: 1_001, payloadType: VIDEO_TYPE, sequence: options.firstSequence ?? 65_000 }
    this.#connection = new PeerConnection('client', {
      iceServers: [],
      bindAddress: options.host ?? '127.0.0.1',
      forceMediaTransport: true,
      disableAutoNegotiation: true,
    })
    this.#connection.onStateChange((state) => {
      this.state = state
    })
    if (options.video !== false) this.#videoTrack = this.#addVideo()
    if (options.audio !== false) {
      const audio = new Audio('1', 'SendOnly')
      audio.addOpusCodec(AUDIO_TYPE)
      if (!options.anonymous) audio.addSSRC(this.#audio.ssrc, 'client')
      this.#audioTrack = this.#connection.addTrack(audio)
    }
  }

  /** Creates the offer. */
  offer(): Promise<string> {
    return offerOf(this.#connection)
  }

  accept(answer: string): void {
    this.#connection.setRemoteDescription(answer, 'answer')
  }

  /** Continues with other media, like a browser whose resolution changes, starting with a keyframe. */
  show(media: WhipMedia): void {
    this.#media = media
    this.#frame = 0
  }

  /**
   * Sends the media in a loop in real time. The media clock stops while this process is paused, because a burst would
   * overflow the receive buffers of sockets.
   */
  start(): this {
    this.#startedAt = this.#steppedAt = performance.now()
    this.#timer = setInterval(() => this.#catchUp(), 5)
    return this
  }

  pause(): void {
    clearInterval(this.#timer)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#connection.close()
  }

  #addVideo(): Track {
    const video = new Video('0', 'SendOnly')
    video.addH264Codec(VIDEO_TYPE, 'profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1')
    video.addRTXCodec(RTX_TYPE, VIDEO_TYPE, 90_000)
    if (!this.#options.anonymous) {
      video.addSSRC(this.#video.ssrc, 'client')
      video.addSSRC(this.#rtx.ssrc, 'client')
    }
    const track = this.#connection.addTrack(video)
    track.onMessage((bytes) => this.#onFeedback(bytes))
    return track
  }

  #catchUp(): void {
    if (!(this.#videoTrack ?? this.#audioTrack)?.isOpen()) return
    const media = this.#media
    const now = performance.now()
    const step = now - this.#steppedAt
    this.#steppedAt = now
    if (step > MAX_STEP_MS) this.#startedAt += step - MAX_STEP_MS
    const elapsed = now - this.#startedAt
    const due =
      this.#videoTrack === null || this.#options.withholdsVideo ? 0 : (elapsed / 1_000) * media.framesPerSecond
    while (this.#frames < due) this.#sendFrame()
    while (this.#audioTrack !== null && this.#audioPackets * 20 <= elapsed) this.#sendAudio()
    if (elapsed - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = elapsed
    const wall = NTP_EPOCH_MS + 1_790_000_000_000 + elapsed
    this.#videoTrack?.sendMessageBinary(senderReport(this.#video.ssrc, wall, this.#frameTime(elapsed)))
    this.#audioTrack?.sendMessageBinary(senderReport(this.#audio.ssrc, wall, Math.round(elapsed * 48)))
  }

  #frameTime(elapsed: number): number {
    // Starts shortly before the 32-bit wrap.
    return (Math.round(elapsed * 90) + 2 ** 32 - 90_000) % 2 ** 32
  }

  #sendFrame(): void {
    const { framesPerSecond, frames } = this.#media
    const nals = this.#nextFrame(frames)
    const timestamp = this.#frameTime(this.#frames * (1_000 / framesPerSecond))
    this.#frames += 1
    this.sentAt.push(performance.now())
    const payloads = h264Payloads(nals)
    payloads.forEach((payload, index) => {
      const { sequence } = this.#video
      const packet = rtpPacket(this.#video, timestamp, index === payloads.length - 1, payload)
      this.#sent.set(sequence, packet)
      this.#videoTrack?.sendMessageBinary(packet)
    })
    this.#options.onFrame?.(nals, performance.now())
    for (const sequence of this.#sent.keys()) {
      if (this.#sent.size <= PACKETS_KEPT) break
      this.#sent.delete(sequence)
    }
  }

  #frame = 0

  /** The next frame; the first one, which is a keyframe, if the server requested a keyframe. */
  #nextFrame(frames: WhipMedia['frames']): readonly Buffer[] {
    if (this.#wantsKeyframe) this.#frame = 0
    this.#wantsKeyframe = false
    const nals = frames[this.#frame % frames.length]!
    this.#frame += 1
    return nals
  }

  #sendAudio(): void {
    const { audio } = this.#media
    const packet = rtpPacket(this.#audio, this.#audioPackets * 960, false, audio[this.#audioPackets % audio.length]!)
    this.#audioPackets += 1
    this.#audioTrack?.sendMessageBinary(packet)
  }

  #onFeedback(bytes: Buffer): void {
    for (let offset = 0; offset + 8 <= bytes.length; offset += (bytes.readUInt16BE(offset + 2) + 1) * 4) {
      const [format, type] = [bytes[offset]! & 0x1f, bytes[offset + 1]!]
      this.feedback.push(type)
      if (type === 206 && format === 1) {
        this.keyframeRequests += 1
        this.#wantsKeyframe = true
      }
      if (type !== 205 || format !== 1) continue
      const end = offset + (bytes.readUInt16BE(offset + 2) + 1) * 4
      for (let entry = offset + 12; entry + 4 <= end; entry += 4) {
        const [first, mask] = [bytes.readUInt16BE(entry), bytes.readUInt16BE(entry + 2)]
        this.#retransmit(first)
        for (let bit = 0; bit < 16; bit += 1) if (mask & (1 << bit)) this.#retransmit((first + bit + 1) & 0xffff)
      }
    }
  }

  #retransmit(sequence: number): void {
    const packet = this.#sent.get(sequence)
    if (packet === undefined) return
    this.retransmissions += 1
    const original = Buffer.of(sequence >> 8, sequence & 0xff)
    const payload = Buffer.concat([original, packet.subarray(12)])
    const marker = (packet[1]! & 0x80) !== 0
    this.#videoTrack?.sendMessageBinary(rtpPacket(this.#rtx, packet.readUInt32BE(4), marker, payload))
  }
}
