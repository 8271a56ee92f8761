/**
 * The only module that imports the native WebRTC library. Calls into the library can throw because of the remote peer: a
 * track can close between a check and a send. All calls and callbacks are caught here. A fault ends the connection of that
 * peer and no other.
 */
import { randomInt } from 'node:crypto'
import {
  Audio,
  H264RtpPacketizer,
  PeerConnection,
  RtcpNackResponder,
  RtcpSrReporter,
  RtpPacketizationConfig,
  RtpPacketizer,
  Video,
  type Track,
} from 'node-datachannel'
import type { MediumKind, WhipChildSettings } from './protocol.ts'

export { initLogger } from 'node-datachannel'

/** A client must connect within this time. */
export const CONNECT_TIMEOUT_MS = 15_000

/** Callbacks for the events of a connection. */
export interface ConnectionListener {
  /** The answer to the client's offer. Called once. */
  readonly onAnswer: (sdp: string) => void
  /** Called once, when all sending tracks are open and before the first packet is delivered. */
  readonly onConnected: () => void
  /** The connection has ended. May be called more than once. */
  readonly onEnd: (reason: string) => void
}

/** The methods of a native track that {@link MediaTrack} uses. */
export type NativeTrack = Pick<Track, 'close' | 'isOpen' | 'onMessage' | 'onOpen' | 'sendMessageBinary'>

/** The methods of a native peer connection that {@link Connection} uses. */
export type NativePeer = Pick<
  PeerConnection,
  | 'addTrack'
  | 'close'
  | 'localDescription'
  | 'onGatheringStateChange'
  | 'onStateChange'
  | 'onTrack'
  | 'setLocalDescription'
  | 'setRemoteDescription'
>

/** Called with the error of a native call or of a callback. */
export type OnFault = (error: Error) => void

const MAX_PAYLOAD_BYTES = 1_150
/** Sent packets that are kept per track for retransmission. */
const RETRANSMIT_PACKETS = 1_024
const SSRC_LIMIT = 2 ** 32

/** A native track whose calls never throw. It keeps a reference to the native object, so that it is not garbage-collected. */
export class MediaTrack {
  readonly #track: NativeTrack
  readonly #onFault: OnFault
  readonly #onPacket: () => void

  /** @param onPacket called before each packet is delivered to the listener */
  constructor(track: NativeTrack, onFault: OnFault, onPacket: () => void = () => {}) {
    this.#track = track
    this.#onFault = onFault
    this.#onPacket = onPacket
  }

  get isOpen(): boolean {
    return attempt(this.#onFault, () => this.#track.isOpen()) ?? false
  }

  /** @returns false if the track is not open or the send failed */
  send(bytes: Buffer): boolean {
    return attempt(this.#onFault, () => this.#track.isOpen() && this.#track.sendMessageBinary(bytes)) ?? false
  }

  /** Sets the listener for RTP and RTCP packets. If it throws, the error is a fault of this peer. */
  onMessage(listener: (bytes: Buffer) => void): void {
    const guarded = (bytes: Buffer): void => {
      attempt(this.#onFault, () => {
        this.#onPacket()
        listener(bytes)
      })
    }
    attempt(this.#onFault, () => this.#track.onMessage(guarded))
  }

  onOpen(listener: () => void): void {
    attempt(this.#onFault, () => this.#track.onOpen(() => attempt(this.#onFault, listener)))
  }

  close(): void {
    attempt(ignore, () => this.#track.close())
  }
}

/** A track that sends frames. The library splits them into RTP packets. */
export class SendingTrack extends MediaTrack {
  readonly #config: Pick<RtpPacketizationConfig, 'timestamp'>

  constructor(
    track: NativeTrack,
    config: Pick<RtpPacketizationConfig, 'timestamp'>,
    onFault: OnFault,
    onPacket?: () => void,
  ) {
    super(track, onFault, onPacket)
    this.#config = config
  }

  /** Sends a video frame or an Opus packet. @param timestamp RTP timestamp, 32 bits */
  sendFrame(data: Buffer, timestamp: number): boolean {
    this.#config.timestamp = timestamp
    return this.send(data)
  }
}

/** A peer connection over the UDP port that all connections share. */
export class Connection {
  readonly #peer: NativePeer
  readonly #listener: ConnectionListener
  readonly #tracks: MediaTrack[] = []
  /** The state is `connected`, or a packet was received. */
  #isUp = false
  #connected = false
  #closed = false

  /** @throws Error if the library cannot create a connection */
  constructor(
    name: string,
    settings: WhipChildSettings,
    listener: ConnectionListener,
    create: (name: string, settings: WhipChildSettings) => NativePeer = openPeer,
  ) {
    this.#listener = listener
    this.#peer = create(name, settings)
  }

  /** Sets the listener for tracks that the client sends. To be called before {@link answer}. */
  onTrack(listener: (track: MediaTrack) => void): void {
    this.#peer.onTrack((native) => {
      attempt(this.#onFault, () => {
        const track = new MediaTrack(native, this.#onFault, this.#onUp)
        this.#tracks.push(track)
        listener(track)
      })
    })
  }

  /**
   * Adds a track that sends H.264 or Opus. The library packetizes, answers NACKs and sends sender reports. To be called
   * before {@link answer}.
   * @throws Error if the library rejects the track
   */
  addTrack(kind: MediumKind, mid: string, payloadType: number): SendingTrack {
    const medium = kind === 'video' ? new Video(mid, 'SendOnly') : new Audio(mid, 'SendOnly')
    if (medium instanceof Video) medium.addH264Codec(payloadType)
    else medium.addOpusCodec(payloadType)
    const ssrc = randomInt(1, SSRC_LIMIT)
    medium.addSSRC(ssrc, 'crier', 'crier', kind)
    const native = this.#peer.addTrack(medium)
    const config = new RtpPacketizationConfig(ssrc, 'crier', payloadType, kind === 'video' ? 90_000 : 48_000)
    const packetizer =
      kind === 'video' ? new H264RtpPacketizer('Length', config, MAX_PAYLOAD_BYTES) : new RtpPacketizer(config)
    packetizer.addToChain(new RtcpSrReporter(config))
    packetizer.addToChain(new RtcpNackResponder(RETRANSMIT_PACKETS))
    native.setMediaHandler(packetizer)
    const track = new SendingTrack(native, config, this.#onFault, this.#onUp)
    track.onOpen(() => this.#noteConnected())
    this.#tracks.push(track)
    return track
  }

  /** Answers an offer. @throws Error if the library rejects it. Then the connection is closed. */
  answer(offer: string): void {
    try {
      this.#watchState()
      this.#peer.setRemoteDescription(offer, 'offer')
      this.#peer.setLocalDescription('answer')
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** May be called more than once. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const track of this.#tracks.splice(0)) track.close()
    attempt(ignore, () => this.#peer.close())
  }

  #watchState(): void {
    const { onAnswer, onEnd } = this.#listener
    let answered = false
    const guarded = (listener: (state: string) => void) => (state: string) => {
      if (!this.#closed) attempt(this.#onFault, () => listener(state))
    }
    this.#peer.onGatheringStateChange(
      guarded((state) => {
        if (state !== 'complete' || answered) return
        answered = true
        const description = this.#peer.localDescription()
        if (description === null) onEnd('no answer')
        else onAnswer(description.sdp)
      }),
    )
    this.#peer.onStateChange(
      guarded((state) => {
        if (state === 'connected') this.#onUp()
        else if (state === 'closed') onEnd('closed')
        else if (state === 'failed') onEnd('connection lost')
      }),
    )
  }

  /**
   * The library reports state changes, open tracks and packets from separate threads, in any order. A packet that could be
   * decrypted proves the connection. `onConnected` is called before the packet is delivered, because media received before
   * `onConnected` is dropped.
   */
  readonly #onUp = (): void => {
    this.#isUp = true
    this.#noteConnected()
  }

  /** Waits until sending tracks are open. Frames sent before are lost, including the first keyframe. */
  #noteConnected(): void {
    if (this.#closed || this.#connected || !this.#isUp) return
    if (this.#tracks.some((track) => track instanceof SendingTrack && !track.isOpen)) return
    this.#connected = true
    this.#listener.onConnected()
  }

  readonly #onFault = (error: Error): void => {
    if (!this.#closed) this.#listener.onEnd(`connection fault: ${error.message}`)
  }
}

function openPeer(name: string, { host, port }: WhipChildSettings): NativePeer {
  return new PeerConnection(name, {
    iceServers: [],
    bindAddress: host,
    enableIceUdpMux: true,
    portRangeBegin: port,
    portRangeEnd: port,
    forceMediaTransport: true,
    disableAutoNegotiation: true,
  })
}

/** Calls `run`. If it throws, calls `onFault` and returns undefined. */
function attempt<T>(onFault: OnFault, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    onFault(error instanceof Error ? error : new Error(String(error)))
    return undefined
  }
}

/** Errors of closing are ignored: the object may be closed already. */
function ignore(): void {}
