import { OneOf } from '../../../core/schema.ts'

/** What a recording does while the publisher is away. */
export const RECORD_GAPS = ['cut', 'slate'] as const
export type RecordGaps = (typeof RECORD_GAPS)[number]

export const recordGaps = OneOf(RECORD_GAPS, {
  description:
    'What a recording does while the publisher is away. `cut`: leaves that time out, of picture and sound alike. `slate`: records the slate that viewers saw, with silence. Time in which viewers saw no slate is always left out: no slate is set, it is not shown yet, or it cannot continue the file (codecs other than H.264 with AAC, or more than two channels). A change takes effect at the next keyframe, in another file',
})
