import { Audio, PeerConnection, Video } from 'node-datachannel'

const REPORTS = [200, 201]

/** A client of WHEP without a browser. */
export class WhepViewer {
  readonly #connection = new PeerConnection('viewer', {
    iceServers: [],
    bindAddress: '127.0.0.1',
    disableAutoNegotiation: true,
  })
  /** RTP as it came. */
  readonly packets = { video: [] as Buffer[], audio: [] as Buffer[] }

  constructor() {
    const media = { video: new Video('0', 'RecvOnly'), audio: new Audio('1', 'RecvOnly') }
    media.video.addH264Codec(96)
    media.audio.addOpusCodec(111)
    for (const kind of ['video', 'audio'] as const) {
      this.#connection.addTrack(media[kind]).onMessage((packet) => {
        if (!REPORTS.includes(packet[1]!)) this.packets[kind].push(packet)
      })
    }
  }

  offer(): Promise<string> {
    return new Promise((resolve) => {
      this.#connection.onGatheringStateChange((state) => {
        if (state === 'complete') resolve(this.#connection.localDescription()?.sdp ?? '')
      })
      this.#connection.setLocalDescription('offer')
    })
  }

  accept(answer: string): void {
    this.#connection.setRemoteDescription(answer, 'answer')
  }

  close(): void {
    this.#connection.close()
  }
}
