import { defineError } from '../core/error.ts'

export const StorageFull = defineError({
  code: 'storage_full',
  status: 507,
  message: 'The server has no space for the file.',
  cause: 'The disk with the files is full. No part of the file was stored.',
  fix: 'Try again later. The administrator of the server must free disk space.',
})
export const StorageUnavailable = defineError({
  code: 'storage_unavailable',
  status: 503,
  message: 'The file storage is unavailable. Try again in a few seconds.',
  cause: 'The disk or the S3 service with the files cannot be reached.',
  fix: 'Try again after Retry-After seconds. Nothing was changed.',
})
