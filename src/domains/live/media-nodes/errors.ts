import { defineError } from '../../../core/error.ts'

export const NoUsableCodec = defineError({
  code: 'no_usable_codec',
  status: 406,
  message: 'The offer has nothing in it that can be taken.',
  cause:
    'A WHIP client offered neither H.264 (packetization mode 1) nor VP8, or sound other than Opus, or sends nothing.',
  fix: 'Offer H.264 or VP8, and Opus, as `sendonly`; every current browser does.',
})

export const IceRestartUnsupported = defineError({
  code: 'ice_restart_unsupported',
  status: 422,
  message: 'ICE restarts are not supported.',
  cause: 'A WHIP client sent candidates under another ICE user name than that of its session.',
  fix: 'Delete the session and publish anew: destinations are held meanwhile.',
})

export const MediaUnavailable = defineError({
  code: 'media_unavailable',
  status: 503,
  message: 'No media node is there to relay the stream right now.',
  cause: 'The media process is starting again, or no node with the role media can be reached.',
  fix: 'Try again after Retry-After seconds; nothing was changed.',
})
