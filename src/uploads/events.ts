import { event } from '../core/event.ts'
import { Id, Type } from '../core/schema.ts'

export const uploadProgress = event({
  name: 'upload.progress',
  summary: 'How far a signed upload is; at most once a second',
  scope: 'media:read',
  stored: false,
  data: Type.Object({
    workspaceId: Id,
    uploadId: Id,
    received: Type.Integer({ description: 'Bytes' }),
    size: Type.Integer({ description: 'Bytes that are to come in all' }),
  }),
})
