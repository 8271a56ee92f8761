import { Audio, PeerConnection, Video, type Track } from 'node-datachannel'
import { offerOf } from './sdp-offer.ts'

/** RTCP packet types: sender report and receiver report. */
const REPORTS = [200, 201]

/** A WHEP client without a browser. */
export class WhepViewer {
  readonly #connection = new PeerConnection('viewer', {
    iceServers: [],
    bindAddress: '127.0.0.1',
    disableAutoNegotiation: true,
  })
  /** Referenced, because a track that is garbage collected delivers no more packets. */
  readonly #tracks: readonly Track[]
  /** The received RTP packets. */
  readonly packets = { video: [] as Buffer[], audio: [] as Buffer[] }

  constructor() {
    const media = { video: new Video('0', 'RecvOnly'), audio: new Audio('1', 'RecvOnly') }
    media.video.addH264Codec(96)
    media.audio.addOpusCodec(111)
    this.#tracks = (['video', 'audio'] as const).map((kind) => {
      const track = this.#connection.addTrack(media[kind])
      track.onMessage((packet) => {
        if (!REPORTS.includes(packet[1]!)) this.packets[kind].push(packet)
      })
      return track
    })
  }

  offer(): Promise<string> {
    return offerOf(this.#connection)
  }

  accept(answer: string): void {
    this.#connection.setRemoteDescription(answer, 'answer')
  }

  close(): void {
    for (const track of this.#tracks) track.close()
    this.#connection.close()
  }
}
