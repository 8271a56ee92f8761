import { PeerConnection } from 'node-datachannel'
import type { WhipChildSettings } from './protocol.ts'

/** A client that has not connected after this long will not. */
export const CONNECT_MS = 15_000

/** What its owner hears of a connection. */
export interface ConnectionListener {
  readonly onAnswer: (sdp: string) => void
  /** Called once. */
  readonly onConnected: () => void
  /** It is over; may be called again. */
  readonly onEnd: (reason: string) => void
}

/** A connection over the port that all share. */
export function newConnection(name: string, { host, port }: WhipChildSettings): PeerConnection {
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

/** Answers an offer. @throws Error when the stack does not take it; the connection is closed then */
export function answer(connection: PeerConnection, offer: string, listener: ConnectionListener): void {
  let [answered, connected] = [false, false]
  connection.onGatheringStateChange((state) => {
    if (state !== 'complete' || answered) return
    answered = true
    const description = connection.localDescription()
    if (description === null) listener.onEnd('no answer')
    else listener.onAnswer(description.sdp)
  })
  connection.onStateChange((state) => {
    if (state === 'connected' && !connected) {
      connected = true
      listener.onConnected()
    } else if (state === 'closed') listener.onEnd('closed')
    else if (state === 'failed') listener.onEnd('connection lost')
  })
  try {
    connection.setRemoteDescription(offer, 'offer')
    connection.setLocalDescription('answer')
  } catch (error) {
    connection.close()
    throw error
  }
}
