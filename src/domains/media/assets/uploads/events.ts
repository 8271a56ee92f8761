import { event } from '../../../../core/event.ts'
import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Id, Type } from '../../../../core/schema.ts'

export const uploadProgress = event({
  name: 'upload.progress',
  summary: 'How far a signed upload is; at most once a second',
  scope: 'media:read',
  stored: false,
  data: Type.Object({
    workspaceId: Id,
    uploadId: Id,
    received: Type.Integer({ description: 'Bytes that have arrived' }),
    size: Type.Integer({ description: 'Bytes of the whole file' }),
  }),
  example: {
    workspaceId: EXAMPLE.workspaceId,
    uploadId: EXAMPLE.uploadId,
    received: 16_777_216,
    size: 48_211_904,
  },
})
