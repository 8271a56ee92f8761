import type { Stage } from '../../../../test/support/stage.ts'

/** Announces a media node. */
export function announceMedia({ app }: Stage): void {
  const status = {
    rtmpPort: 1935,
    rtmpsPort: null,
    previewPort: null,
    cpu: 0,
    uptimeSeconds: 1,
    connections: 0,
    renderings: { running: 0, max: 8 },
    whip: null,
    streams: [],
  }
  app.composition.services.mediaNodes.directory.announce({ nodeId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e90', status })
}
