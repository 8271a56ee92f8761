import { defineError } from '../core/error.ts'

export const MediaUnavailable = defineError({
  code: 'media_unavailable',
  status: 503,
  message: 'No media node is there to relay the stream right now.',
  cause: 'The media process is starting again, or no node with the role media can be reached.',
  fix: 'Try again after Retry-After seconds; nothing was changed.',
})
