import { OneOf } from '../../../core/schema.ts'

/** What a recording does while the publisher is away. */
export const RECORD_GAPS = ['cut', 'slate'] as const
export type RecordGaps = (typeof RECORD_GAPS)[number]

export const recordGaps = OneOf(RECORD_GAPS, {
  description:
    'What a recording does while the publisher is away. `cut`: leaves that time out of both video and audio. `slate`: records the slate that viewers saw, with silence. Time without a slate is always left out: if none is set, until it is shown, and if it cannot continue the file (codecs other than H.264 with AAC, or more than two channels). A change of this setting takes effect at the next keyframe, in a new file',
})
