import type { AiJobData, CaptionData } from './schemas.ts'
import type { AiJobRow, CaptionRow } from './tables.ts'

/** An AI job as the API shows it. */
export function jobView(row: AiJobRow, captions: readonly CaptionRow[]): AiJobData {
  const {
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
      ? { captions: kind === 'caption' ? captions.map(captionView) : null, style, ignoredSettings }
      : null
  return { _id: id, kind, ...rest, result }
}

export function captionView({ id, ...rest }: CaptionRow): CaptionData {
  return { _id: id, ...rest }
}
