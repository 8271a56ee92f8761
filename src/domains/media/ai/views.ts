import type { AiJobData, CaptionData, TranscriptData } from './schemas.ts'
import type { AiJobRow, CaptionRow, TranscriptRow } from './tables.ts'
import { toSrt, toVtt } from './transcripts/subtitles.ts'

/** An AI job as the API shows it. @param transcript left out in lists and events, because it can be long */
export function jobView(row: AiJobRow, captions: readonly CaptionRow[], transcript?: TranscriptRow): AiJobData {
  const {
    analysis,
    id,
    ignoredSettings,
    kind,
    payerId: _payer,
    request: _request,
    reservationId: _reservation,
    style,
    ...rest
  } = row
  const result =
    row.state === 'done'
      ? {
          captions: kind === 'caption' ? captions.map(captionView) : null,
          style,
          analysis,
          transcript: transcript === undefined ? null : transcriptView(transcript),
          ignoredSettings,
        }
      : null
  return { _id: id, kind, ...rest, result }
}

function transcriptView({ id, segments, ...rest }: TranscriptRow): TranscriptData {
  const text = segments.map((segment) => segment.text).join('\n')
  // The WebVTT file has the note too, because it is used without this data. SubRip has no comments.
  const note = rest.origin === 'model' ? `Speech recognized by a model: ${rest.model ?? 'unknown'}` : undefined
  return { _id: id, ...rest, segments: [...segments], text, srt: toSrt(segments), vtt: toVtt(segments, note) }
}

export function captionView({ id, ...rest }: CaptionRow): CaptionData {
  return { _id: id, ...rest }
}
