import { defineError } from '../../../core/error.ts'

export const NoUsableCodec = defineError({
  code: 'no_usable_codec',
  status: 406,
  message: 'The offer has no usable codec.',
  cause:
    'The offer of a WHIP client has neither H.264 (packetization mode 1) nor VP8, has audio other than Opus, or sends no media.',
  fix: 'Offer H.264 or VP8, and Opus, as `sendonly`. All current browsers do.',
})

export const IceRestartUnsupported = defineError({
  code: 'ice_restart_unsupported',
  status: 422,
  message: 'ICE restarts are not supported.',
  cause: 'A WHIP client sent candidates with an ICE user name that differs from that of its session.',
  fix: 'Delete the session and publish again. Destinations stay connected.',
})

export const MediaUnavailable = defineError({
  code: 'media_unavailable',
  status: 503,
  message: 'No media node is available to relay the stream.',
  cause: 'The media process is restarting, or no node with the role `media` is reachable.',
  fix: 'Retry after the number of seconds in Retry-After. Nothing was changed.',
})
