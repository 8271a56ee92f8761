import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation } from '../../../core/operation.ts'
import { created, FILE } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { MAX_ATTACHMENT_BYTES } from './attachments.ts'
import { EmptyAttachment } from './errors.ts'
import { Attachment, AttachmentPath, ChannelsPath } from './schemas.ts'

const { workspaceId, attachmentId } = EXAMPLE

export const uploadChatAttachment = operation({
  route: 'POST /api/team/{workspaceId}/chat/attachments',
  summary: 'Upload a message attachment',
  description:
    'At most 5 MB. The type is detected from the content. Use its `_id` in `attachments` of sendMessage within a day. Until then only you can see the file.',
  access: 'chat:write',
  workspace: from.path('workspaceId'),
  path: ChannelsPath,
  upload: { kind: 'multipart', maxBytes: MAX_ATTACHMENT_BYTES },
  returns: { 201: Envelope(Attachment) },
  errors: [EmptyAttachment, StorageFull, StorageUnavailable],
  example: { path: { workspaceId } },
  handle: async ({ member, upload, chat }) => created('File uploaded', await chat.attachments.take(member, upload)),
})

export const downloadChatAttachment = operation({
  route: 'GET /api/team/{workspaceId}/chat/attachments/{attachmentId}',
  summary: 'Download a message attachment',
  description: 'Everyone who can see the message can download it. Before the message is sent, only the uploader can.',
  access: 'chat:read',
  workspace: from.path('workspaceId'),
  path: AttachmentPath,
  returns: { 200: FILE },
  errors: [StorageUnavailable],
  example: { path: { workspaceId, attachmentId } },
  handle: async ({ member, path, chat }) => chat.attachments.file(member, path.attachmentId),
})
