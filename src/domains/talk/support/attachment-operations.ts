import { DamagedFile, EmptyFile, ImageTooLarge, UnsafeFile, UnsupportedFile } from '../../../content/errors.ts'
import { NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { created, FILE } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { MAX_ATTACHMENT_BYTES } from './attachments.ts'
import { AttachmentPath, TicketAttachment } from './schemas.ts'

export const uploadTicketAttachment = operation({
  route: 'POST /api/support/attachments',
  summary: 'Upload a file for a support ticket',
  description:
    'At most 10 MB, of a type that the media library takes. Use its id or URL in `attachments` within a day. Until then only you can see it.',
  access: 'user',
  upload: { kind: 'multipart', maxBytes: MAX_ATTACHMENT_BYTES },
  returns: { 201: Envelope(TicketAttachment) },
  errors: [DamagedFile, EmptyFile, ImageTooLarge, StorageFull, StorageUnavailable, UnsafeFile, UnsupportedFile],
  example: {},
  handle: async ({ caller, support, upload }) =>
    created('File uploaded', await support.attachments.take(caller, upload)),
})

export const downloadTicketAttachment = operation({
  route: 'GET /api/support/attachments/{id}',
  summary: 'Download a file of a support ticket',
  description: 'For the user of the ticket and administrators. Files of notes are for administrators only.',
  access: 'user',
  path: AttachmentPath,
  returns: { 200: FILE },
  errors: [NotFound, StorageUnavailable],
  example: { path: { id: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4f13' } },
  handle: async ({ caller, path, support }) => support.attachments.file(caller, path.id),
})
