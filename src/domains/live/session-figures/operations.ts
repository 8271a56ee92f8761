import { NotFound } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { operation, owner } from '../../../core/operation.ts'
import { ok } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import { SessionPath, SessionSeries } from './schemas.ts'

const { sessionId, streamId } = EXAMPLE

export const getStreamSessionSeries = operation({
  route: 'GET /api/streams/{id}/sessions/{sessionId}/series',
  summary: 'Get how a session went over time',
  description:
    'Viewers, bitrate, and for each destination its state, bitrate, dropped messages and reconnects. A time that no media node reported is a point without values. Viewers are those of the preview: platforms do not report theirs over RTMP.',
  access: 'streams:read',
  workspace: owner('streams'),
  path: SessionPath,
  returns: { 200: Envelope(SessionSeries) },
  errors: [NotFound],
  example: { path: { id: streamId, sessionId } },
  handle: async ({ path, sessionFigures }) =>
    ok('Session over time', await sessionFigures.series.ofSession(path.id, path.sessionId)),
})
