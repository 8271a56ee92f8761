/** What other domains and the composition use of media nodes. */

export { IceRestartUnsupported, MediaUnavailable, NoUsableCodec } from './errors.ts'
export { MediaDirectory, type MediaNodeEntry, type MediaReport, SILENCE_MS } from './media-directory.ts'
export { type StreamNotice, type StreamNotices } from './notices.ts'
export { loadOf, Placement } from './placement.ts'
export { exampleOffer, MAX_SDP_BYTES, Sdp } from './sdp-schema.ts'
