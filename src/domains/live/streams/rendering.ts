import { Input, named, Nullable, OneOf, States, Type, type Static } from '../../../core/schema.ts'

const MOST_DELAY_SECONDS = 30

const fields = {
  maxBitrate: Type.Optional(
    Type.Integer({
      minimum: 300_000,
      maximum: 20_000_000,
      description: 'Bits per second of pictures and sound together; pictures are encoded anew',
    }),
  ),
  crop: Type.Optional(
    OneOf(['9:16'] as const, { description: 'The middle of the picture, upright; pictures are encoded anew' }),
  ),
  delaySeconds: Type.Optional(
    Type.Number({ minimum: 0, maximum: MOST_DELAY_SECONDS, description: 'How much later than the others' }),
  ),
}

/** As a caller gives it. */
export const RenderingInput = Input(fields)

/** As it is kept and shown. */
export const RenderingView = named('Rendering', Type.Object(fields))
export type RenderingData = Static<typeof RenderingView>

export const RenderingStatusView = named(
  'RenderingStatus',
  Type.Object({
    status: States('RenderingState', 'How the encoding for one destination is doing', {
      idle: 'Nothing to encode: the stream is not on the air',
      starting: 'The encoder starts',
      running: 'Encodes',
      restarting: 'The encoder has failed, as `error` says, and is started again',
      unavailable: 'The media node has no ffmpeg, or renders as much as it may',
    }),
    restarts: Type.Integer(),
    speed: Nullable(
      Type.Number({ description: 'Seconds of media that come out in a second; below 1 it does not keep up' }),
    ),
    droppedVideo: Type.Integer({ description: 'Pictures left out because encoding does not keep up' }),
    error: Nullable(Type.String({ description: 'Why it failed last' })),
  }),
)

/** As it is kept: null for the stream as it comes. */
export function chosenRendering(input: RenderingData | null | undefined): RenderingData | null {
  if (input === null || input === undefined) return null
  const { crop, delaySeconds = 0, maxBitrate } = input
  const chosen = { ...(crop && { crop }), ...(maxBitrate && { maxBitrate }), ...(delaySeconds > 0 && { delaySeconds }) }
  return Object.keys(chosen).length === 0 ? null : chosen
}

/** What the media node is told. */
export function renderingOf({ crop, delaySeconds, maxBitrate }: RenderingData) {
  return {
    ...(crop && { crop }),
    ...(maxBitrate && { maxBitrate }),
    ...(delaySeconds && { delayMs: Math.round(delaySeconds * 1_000) }),
  }
}
