import { Input, named, Nullable, OneOf, States, Type, type Static } from '../../../core/schema.ts'

const MAX_DELAY_SECONDS = 30

const fields = {
  maxBitrate: Type.Optional(
    Type.Integer({
      minimum: 300_000,
      maximum: 20_000_000,
      description: 'Bits per second of video and audio together. Video is transcoded',
    }),
  ),
  crop: Type.Optional(
    OneOf(['9:16'] as const, { description: 'The center of the picture, upright. Video is transcoded' }),
  ),
  delaySeconds: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: MAX_DELAY_SECONDS,
      description: 'How much later than to other destinations it is sent',
    }),
  ),
}

/** The rendering in a request. */
export const RenderingInput = Input(fields)

/** The rendering as it is stored and returned. */
export const RenderingView = named('Rendering', Type.Object(fields))
export type RenderingData = Static<typeof RenderingView>

export const RenderingStatusView = named(
  'RenderingStatus',
  Type.Object({
    status: States('RenderingState', 'How the encoding for one destination is doing', {
      idle: 'Nothing to encode, because the stream is not live',
      starting: 'The encoder is starting',
      running: 'The encoder is running',
      restarting: 'The encoder failed for the reason in `error` and is being restarted',
      unavailable: 'The media node has no ffmpeg, or has reached its limit of renderings',
    }),
    restarts: Type.Integer(),
    speed: Nullable(
      Type.Number({ description: 'Seconds of media encoded per second. Below 1 the encoder does not keep up' }),
    ),
    droppedVideo: Type.Integer({ description: 'Frames dropped because the encoder does not keep up' }),
    error: Nullable(Type.String({ description: 'Why it failed the last time' })),
  }),
)

/** The rendering to store. Null for the unchanged stream. */
export function chosenRendering(input: RenderingData | null | undefined): RenderingData | null {
  if (input === null || input === undefined) return null
  const { crop, delaySeconds = 0, maxBitrate } = input
  const chosen = { ...(crop && { crop }), ...(maxBitrate && { maxBitrate }), ...(delaySeconds > 0 && { delaySeconds }) }
  return Object.keys(chosen).length === 0 ? null : chosen
}

/** The rendering in the form that media nodes expect. */
export function renderingOf({ crop, delaySeconds, maxBitrate }: RenderingData) {
  return {
    ...(crop && { crop }),
    ...(maxBitrate && { maxBitrate }),
    ...(delaySeconds && { delayMs: Math.round(delaySeconds * 1_000) }),
  }
}
