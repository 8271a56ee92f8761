/**
 * The only module of the product that imports the native WebRTC library. A call into the library can throw because of what
 * the peer does at that moment: a track may close between a check and a send. Every such call is caught here, and so is
 * every callback from the library. The fault ends the connection of that peer and no other.
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

/** A client that has not connected after this long will not. */
export const CONNECT_MS = 15_000

/** What the owner of a connection is told. */
export interface ConnectionListener {
  /** The answer to the client's offer. Called once. */
  readonly onAnswer: (sdp: string) => void
  /** Called once, before the first packet is handed on, and when every track that sends is open. */
  readonly onConnected: () => void
  /** The connection is over. May be called more than once. */
  readonly onEnd: (reason: string) => void
}

/** What a {@link MediaTrack} needs of a native track. */
export type NativeTrack = Pick<Track, 'close' | 'isOpen' | 'onMessage' | 'onOpen' | 'sendMessageBinary'>

/** What a {@link Connection} needs of the native peer connection. */
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

const MOST_PAYLOAD_BYTES = 1_150
const PACKETS_KEPT = 1_024
const SSRC_LIMIT = 2 ** 32

/** A native track whose calls never throw. It keeps a reference to the native object, which is collected otherwise. */
export class MediaTrack {
  readonly #track: NativeTrack
  readonly #onFault: OnFault
  readonly #onPacket: () => void

  /** @param onPacket called before each packet is handed to the listener */
  constructor(track: NativeTrack, onFault: OnFault, onPacket: () => void = () => {}) {
    this.#track = track
    this.#onFault = onFault
    this.#onPacket = onPacket
  }

  get isOpen(): boolean {
    return attempt(this.#onFault, () => this.#track.isOpen()) ?? false
  }

  /** @returns false while the track is not open, and when the send failed */
  send(bytes: Buffer): boolean {
    return attempt(this.#onFault, () => this.#track.isOpen() && this.#track.sendMessageBinary(bytes)) ?? false
  }

  /** Takes RTP and RTCP packets as they come. An error of the listener is a fault of this peer. */
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

/** A track that sends what the library makes RTP packets of. */
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

  /** Sends a picture or a packet of sound. @param timestamp RTP timestamp, 32 bits */
  sendFrame(data: Buffer, timestamp: number): boolean {
    this.#config.timestamp = timestamp
    return this.send(data)
  }
}

/** One peer connection, over the UDP port that all connections share. */
export class Connection {
  readonly #peer: NativePeer
  readonly #listener: ConnectionListener
  readonly #tracks: MediaTrack[] = []
  /** The state is connected, or a packet came. */
  #isUp = false
  #connected = false
  #closed = false

  /** @throws Error when the library has no resources for another one */
  constructor(
    name: string,
    settings: WhipChildSettings,
    listener: ConnectionListener,
    create: (name: string, settings: WhipChildSettings) => NativePeer = openPeer,
  ) {
    this.#listener = listener
    this.#peer = create(name, settings)
  }

  /** Takes the tracks that the client sends. To be called before {@link answer}. */
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
   * Adds a track that sends H.264 or Opus: the library makes packets, keeps them for those who ask again, and reports.
   * To be called before {@link answer}.
   * @throws Error when the library does not take it
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
      kind === 'video' ? new H264RtpPacketizer('Length', config, MOST_PAYLOAD_BYTES) : new RtpPacketizer(config)
    packetizer.addToChain(new RtcpSrReporter(config))
    packetizer.addToChain(new RtcpNackResponder(PACKETS_KEPT))
    native.setMediaHandler(packetizer)
    const track = new SendingTrack(native, config, this.#onFault, this.#onUp)
    track.onOpen(() => this.#noteConnected())
    this.#tracks.push(track)
    return track
  }

  /** Answers an offer. @throws Error when the library does not take it; the connection is closed then */
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
   * The library reports state, open tracks and packets on threads of their own, in any order. A packet that was decrypted
   * proves the connection, and is not handed on before the owner knows of it: the owner has nowhere to put it.
   */
  readonly #onUp = (): void => {
    this.#isUp = true
    this.#noteConnected()
  }

  /** Waits for tracks that send: what is sent before they are open is lost, and with it the first keyframe. */
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

/** Runs it. @returns what it returned; undefined when it threw, after `onFault` was told */
function attempt<T>(onFault: OnFault, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    onFault(error instanceof Error ? error : new Error(String(error)))
    return undefined
  }
}

/** Closing what is closed already is no fault. */
function ignore(): void {}
