import { inBandParameterSets } from '../rtmp/avc-record.ts'
import { readTagBody } from '../rtmp/tag-body.ts'
import { avcVideoSize } from '../rtmp/sps.ts'

type Kind = 'video' | 'audio'

/**
 * Parameter sets for the keyframes of a slate in the publisher's file.
 *
 * @param slate bodies of the slate's sequence headers, if they differ from the publisher's
 * @param publisher the publisher's sequence headers
 * @returns undefined when the slate cannot continue the file: the publisher does not send H.264, the resolution differs,
 *   or the slate's audio has another format
 */
export function slateParameterSets(
  slate: Partial<Record<Kind, Buffer>>,
  publisher: Partial<Record<Kind, { readonly codec: string | null; readonly payload: Buffer }>>,
): Buffer | undefined {
  const { audio, video } = publisher
  if (video?.codec !== 'h264') return undefined
  if (slate.audio !== undefined && audio !== undefined && !slate.audio.equals(audio.payload)) return undefined
  const [slateRecord, publisherRecord] = [slate.video ?? video.payload, video.payload].map(
    (body) => readTagBody('video', body).data,
  )
  const [size, publisherSize] = [avcVideoSize(slateRecord!), avcVideoSize(publisherRecord!)]
  const isSameSize = size !== null && size.width === publisherSize?.width && size.height === publisherSize.height
  return isSameSize ? inBandParameterSets(slateRecord!) : undefined
}
