import type { PeerConnection } from 'node-datachannel'

/** The offer of a client that has added its tracks, with its candidates. */
export function offerOf(connection: PeerConnection): Promise<string> {
  return new Promise((resolve) => {
    connection.onGatheringStateChange((state) => {
      if (state === 'complete') resolve(connection.localDescription()?.sdp ?? '')
    })
    connection.setLocalDescription('offer')
  })
}
