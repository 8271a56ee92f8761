import { defineError } from '../core/error.ts'

export const StorageFull = defineError({
  code: 'storage_full',
  status: 507,
  message: 'The server has no room for the file.',
  cause: 'The disk that holds the files is full. Nothing of the file was kept.',
  fix: 'Try again later; whoever runs the server has to make room.',
})
export const StorageUnavailable = defineError({
  code: 'storage_unavailable',
  status: 503,
  message: 'The file storage does not answer right now.',
  cause: 'The disk or the S3 service that holds the files cannot be reached.',
  fix: 'Try again after Retry-After seconds; nothing was changed.',
})
