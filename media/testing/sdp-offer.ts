import type { PeerConnection } from 'node-datachannel'

/** Creates an offer with all candidates. The tracks must have been added. */
export function offerOf(connection: PeerConnection): Promise<string> {
  return new Promise((resolve) => {
    connection.onGatheringStateChange((state) => {
      if (state === 'complete') resolve(connection.localDescription()?.sdp ?? '')
    })
    connection.setLocalDescription('offer')
  })
}
