import { avcVideoSize } from '../../rtmp/sps.ts'
import type { ChosenCodec } from '../sdp/codecs.ts'
import { AvcTrack, avcTagBody } from './avc-track.ts'
import { H264Depacketizer } from './h264-depacketizer.ts'
import type { LayerState } from './layer-selector.ts'
import { Receiver } from './receiver.ts'
import { VIDEO_REORDER } from './reorder-buffer.ts'
import type { RtpPacket } from './rtp-packet.ts'
import type { TrackClock } from './sync-clock.ts'
import { Vp8Depacketizer, vp8Area } from './vp8-depacketizer.ts'

/** A complete frame of a layer. `data` is an FLV tag body for H.264, or a raw VP8 frame. */
export interface LayerFrame {
  /** Unwrapped RTP timestamp. */
  readonly timestamp: number
  readonly isKeyframe: boolean
  readonly data: Buffer
}

export interface VideoLayerOptions {
  readonly name: string
  readonly codec: ChosenCodec
  readonly clock: TrackClock
  /** Called for each packet with media, before `lastPacketAt` is updated. */
  readonly onPacket: (layer: VideoLayer, now: number) => void
  readonly onFrame: (layer: VideoLayer, frame: LayerFrame, now: number) => void
  /** A frame was lost. Frames are dropped until the next keyframe. */
  readonly onKeyframeNeeded: (layer: VideoLayer, now: number) => void
}

/** Receives one simulcast layer, or the whole video without simulcast: packets in, complete frames out. */
export class VideoLayer implements LayerState {
  readonly name: string
  readonly clock: TrackClock
  readonly receiver: Receiver
  readonly #options: VideoLayerOptions
  readonly #depacketizer: H264Depacketizer | Vp8Depacketizer
  readonly #avc: AvcTrack | null = null
  #vp8AwaitsKeyframe = true
  #now = 0
  /** Width times height; 0 while unknown. */
  area = 0
  /** When the last packet with media came; null before the first. */
  lastPacketAt: number | null = null
  /** When the last keyframe came; null before the first. */
  keyframeAt: number | null = null
  /** When a PLI was last sent. */
  pliAt = Number.NEGATIVE_INFINITY
  /** The current AVCDecoderConfigurationRecord; null for VP8 and before the first keyframe. */
  configuration: Buffer | null = null

  constructor(options: VideoLayerOptions) {
    const { clock, codec, name } = options
    this.name = name
    this.clock = clock
    this.#options = options
    if (codec.name === 'h264') this.#avc = this.#newAvcTrack(codec)
    this.#depacketizer = this.#newDepacketizer(codec)
    this.receiver = new Receiver({
      payloadType: codec.payloadType,
      rtxPayloadType: codec.rtxPayloadType,
      clockRate: 90_000,
      limits: VIDEO_REORDER,
      clock,
      onPacket: (packet, timestamp, afterLoss, now) => this.#depacketize(packet, timestamp, afterLoss, now),
    })
  }

  /** Whether frames are dropped until the next keyframe. */
  get awaitsKeyframe(): boolean {
    return this.#avc?.awaitsKeyframe ?? this.#vp8AwaitsKeyframe
  }

  /** Handles a packet or a retransmission of this layer. */
  push(packet: RtpPacket, now: number): void {
    // RTX and padding for bandwidth probing do not prove that the layer is being sent.
    if (packet.payloadType === this.#options.codec.payloadType && packet.payload.length > 0) {
      this.#options.onPacket(this, now)
      this.lastPacketAt = now
    }
    this.receiver.push(packet, now)
  }

  #newAvcTrack({ parameterSets }: ChosenCodec): AvcTrack {
    return new AvcTrack(
      parameterSets,
      ({ record }) => {
        const size = avcVideoSize(record)
        this.configuration = record
        // 1 if the size cannot be parsed: 0 would exclude the layer from selection.
        this.area = size === null ? 1 : size.width * size.height
      },
      ({ isKeyframe, nals, timestamp }) => {
        this.#deliver({ timestamp, isKeyframe, data: avcTagBody(isKeyframe, nals) })
      },
    )
  }

  #newDepacketizer({ name }: ChosenCodec): H264Depacketizer | Vp8Depacketizer {
    const onDamagedFrame = (): void => this.#onLoss()
    if (name === 'h264') return new H264Depacketizer((unit) => this.#avc?.add(unit), onDamagedFrame)
    return new Vp8Depacketizer(({ data, isKeyframe, timestamp }) => {
      if (this.#vp8AwaitsKeyframe && !isKeyframe) return
      this.#vp8AwaitsKeyframe = false
      if (isKeyframe) this.area = vp8Area(data)
      this.#deliver({ timestamp, isKeyframe, data })
    }, onDamagedFrame)
  }

  #depacketize({ marker, payload }: RtpPacket, timestamp: number, afterLoss: boolean, now: number): void {
    this.#now = now
    if (afterLoss) this.#onLoss()
    this.#depacketizer.push(timestamp, marker, payload, afterLoss)
  }

  #deliver(frame: LayerFrame): void {
    if (frame.isKeyframe) this.keyframeAt = this.#now
    this.#options.onFrame(this, frame, this.#now)
  }

  #onLoss(): void {
    this.#avc?.dropUntilKeyframe()
    this.#vp8AwaitsKeyframe = true
    this.#options.onKeyframeNeeded(this, this.#now)
  }
}
