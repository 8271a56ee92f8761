import { event } from '../../../../core/event.ts'
import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Id, Type } from '../../../../core/schema.ts'

export const uploadProgress = event({
  name: 'upload.progress',
  summary: 'A signed upload received bytes',
  description: 'Sent at most once per second.',
  scope: 'media:read',
  stored: false,
  data: Type.Object({
    workspaceId: Id,
    uploadId: Id,
    received: Type.Integer({ description: 'Bytes received so far' }),
    size: Type.Integer({ description: 'Bytes of the whole file' }),
  }),
  example: {
    workspaceId: EXAMPLE.workspaceId,
    uploadId: EXAMPLE.uploadId,
    received: 16_777_216,
    size: 48_211_904,
  },
})
