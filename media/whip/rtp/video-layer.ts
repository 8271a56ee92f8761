import { avcPictureSize } from '../../rtmp/sps.ts'
import type { ChosenCodec } from '../sdp/codecs.ts'
import { AvcTrack, avcTagBody } from './avc-track.ts'
import { H264Depacketizer } from './h264-depacketizer.ts'
import type { LayerState } from './layer-choice.ts'
import { Receiver } from './receiver.ts'
import { VIDEO_REORDER } from './reorder-buffer.ts'
import type { RtpPacket } from './rtp-packet.ts'
import type { TrackClock } from './sync-clock.ts'
import { Vp8Depacketizer, vp8Area } from './vp8-depacketizer.ts'

/** A whole picture of a layer. `data` is an FLV tag body for H.264, and the frame as it is for VP8. */
export interface LayerPicture {
  /** RTP timestamp on a line. */
  readonly timestamp: number
  readonly isKeyframe: boolean
  readonly data: Buffer
}

export interface VideoLayerOptions {
  readonly name: string
  readonly codec: ChosenCodec
  readonly clock: TrackClock
  /** Called for a packet of media before `heardAt` is moved on. */
  readonly onPacket: (layer: VideoLayer, now: number) => void
  readonly onPicture: (layer: VideoLayer, picture: LayerPicture, now: number) => void
  /** Nothing of it can be passed on before its next keyframe. */
  readonly onDamage: (layer: VideoLayer, now: number) => void
}

/** One layer of the video, or all of it where there is no simulcast: packets in, whole pictures out. */
export class VideoLayer implements LayerState {
  readonly name: string
  readonly clock: TrackClock
  readonly receiver: Receiver
  readonly #options: VideoLayerOptions
  readonly #depacketizer: H264Depacketizer | Vp8Depacketizer
  readonly #avc: AvcTrack | null = null
  #vp8AwaitsKeyframe = true
  #now = 0
  area = 0
  heardAt: number | null = null
  /** When its last keyframe came; null before the first. */
  keyframeAt: number | null = null
  /** When a keyframe was last asked for. */
  askedAt = Number.NEGATIVE_INFINITY
  /** AVCDecoderConfigurationRecord of its pictures; null for VP8, and before the first keyframe. */
  configuration: Buffer | null = null

  constructor(options: VideoLayerOptions) {
    const { clock, codec, name } = options
    this.name = name
    this.clock = clock
    this.#options = options
    if (codec.name === 'h264') this.#avc = this.#avcTrack(codec)
    this.#depacketizer = this.#depacketizerOf(codec)
    this.receiver = new Receiver({
      payloadType: codec.payloadType,
      rtxPayloadType: codec.rtxPayloadType,
      clockRate: 90_000,
      limits: VIDEO_REORDER,
      clock,
      onPacket: (packet, timestamp, afterLoss, now) => this.#take(packet, timestamp, afterLoss, now),
    })
  }

  get awaitsKeyframe(): boolean {
    return this.#avc?.awaitsKeyframe ?? this.#vp8AwaitsKeyframe
  }

  /** Takes a packet of this layer, or one that was sent again. */
  push(packet: RtpPacket, now: number): void {
    // Packets that only probe the line say nothing of whether the layer is there.
    if (packet.payloadType === this.#options.codec.payloadType && packet.payload.length > 0) {
      this.#options.onPacket(this, now)
      this.heardAt = now
    }
    this.receiver.push(packet, now)
  }

  #avcTrack({ parameterSets }: ChosenCodec): AvcTrack {
    return new AvcTrack(
      parameterSets,
      ({ record }) => {
        const size = avcPictureSize(record)
        this.configuration = record
        // A size that cannot be read is no reason to show nothing.
        this.area = size === null ? 1 : size.width * size.height
      },
      ({ isKeyframe, nals, timestamp }) => {
        this.#deliver({ timestamp, isKeyframe, data: avcTagBody(isKeyframe, nals) })
      },
    )
  }

  #depacketizerOf({ name }: ChosenCodec): H264Depacketizer | Vp8Depacketizer {
    const onDamage = (): void => this.#lose()
    if (name === 'h264') return new H264Depacketizer((unit) => this.#avc?.add(unit), onDamage)
    return new Vp8Depacketizer(({ data, isKeyframe, timestamp }) => {
      if (this.#vp8AwaitsKeyframe && !isKeyframe) return
      this.#vp8AwaitsKeyframe = false
      if (isKeyframe) this.area = vp8Area(data)
      this.#deliver({ timestamp, isKeyframe, data })
    }, onDamage)
  }

  #take({ marker, payload }: RtpPacket, timestamp: number, afterLoss: boolean, now: number): void {
    this.#now = now
    if (afterLoss) this.#lose()
    this.#depacketizer.push(timestamp, marker, payload, afterLoss)
  }

  #deliver(picture: LayerPicture): void {
    if (picture.isKeyframe) this.keyframeAt = this.#now
    this.#options.onPicture(this, picture, this.#now)
  }

  #lose(): void {
    this.#avc?.lose()
    this.#vp8AwaitsKeyframe = true
    this.#options.onDamage(this, this.#now)
  }
}
